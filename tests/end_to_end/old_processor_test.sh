#!/bin/sh
# The program trains a step of dense and convolutional layers on a processor without AVX. Usage: old_processor_test.sh TRAINER PROJECT_ROOT
set -eu
trainer=$1
cd "$2"
[ "$(uname -m)" = x86_64 ] || { echo "skipped: this machine is not x86-64"; exit 77; }
command -v qemu-x86_64 >/dev/null || { echo "skipped: qemu-x86_64 is not installed"; exit 77; }

# A kernel chosen for the real processor would be an illegal instruction on this one.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for config in mnist-mlp mnist-small; do
  qemu-x86_64 -cpu Nehalem "$trainer" "configs/$config.yaml" --threads 1 --out "$folder/$config" -s data.dataset=digits \
    -s train.steps=1 -s train.log_every=1 -s train.batch=8 -s train.evaluate=never -s train.checkpoint=never
  grep -Eq '"loss": ?[0-9]' "$folder/$config/metrics.jsonl"
done
