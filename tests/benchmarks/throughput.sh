#!/bin/sh
# throughput.sh TRAINER CONFIG...: images/s of whole training runs on drawn digits, as CSV, at 1 thread, 2 threads, 2 ranks.
set -eu
trainer=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The environment may force slower BLAS kernels than this CPU has.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE TRAINER_DATA || true
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$folder"

# The median over the epochs of a run but the first, which warms up.
measure() {
  setting=$1 config=$2
  shift 2
  "$trainer" "$@" "$config" -q -o "$folder/run" -s train.epochs=4 -s train.evaluate=never -s train.checkpoint=never >log 2>&1 ||
    { cat log; exit 1; }
  rate=$(tail -n 3 run/results.csv | cut -d, -f "$(column examples_per_second)" | sort -n | sed -n 2p)
  echo "$(basename "$config" .yaml),$setting,$rate"
  rm -rf run
}
column() { head -n 1 run/results.csv | tr , '\n' | grep -n "^$1\$" | cut -d: -f1; }

echo "config,setting,images/s"
for config; do
  measure "1 thread" "$config" --threads 1
  measure "2 threads" "$config" --threads 2
  measure "2 ranks" "$config" --ranks 2 --datapar --threads 1
done
