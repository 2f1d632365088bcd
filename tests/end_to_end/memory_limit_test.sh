#!/bin/sh
# memory_limit_test.sh TRAINER MPIRUN FLAG... (which end with -n): a model of three times the memory that a process may use trains on four ranks with that limit each, under
# --mesh 1x4 and under --shard parameters, to the losses of one process without a limit. One process with the limit fails. Each rank has a
# cgroup of its own, so the test needs root.
set -eu
trainer=$(realpath "$1")
shift
launch=$*
layers=60 limit=320 # MiB; a layer takes 16 MiB: parameters, gradients and two states of Adam
mib=1048576
# Version 1 or 2 of cgroups.
if [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
  groups=/sys/fs/cgroup/memory/trainer-$$ file=memory.limit_in_bytes
else
  groups=/sys/fs/cgroup/trainer-$$ file=memory.max
fi
folder=$(mktemp -d)
trap 'rmdir "$groups"/[0-9]* "$groups" 2>/dev/null; rm -rf "$folder"' EXIT
mkdir "$groups" 2>/dev/null || { echo "skipped: no cgroup can be made in ${groups%/*}"; exit 77; }
[ "$file" = memory.limit_in_bytes ] || echo +memory >"$groups/cgroup.subtree_control" 2>/dev/null || true
for rank in 0 1 2 3; do
  mkdir "$groups/$rank"
  echo $((limit * mib)) 2>/dev/null >"$groups/$rank/$file" || { echo "skipped: cgroups have no limit of memory here"; exit 77; }
  [ ! -e "$groups/$rank/memory.swap.max" ] || echo 0 >"$groups/$rank/memory.swap.max"
done
cd "$folder"
{
  echo 'data: {dataset: {synthetic: {shape: [1024], classes: 10, train: 64, test: 8}}}'
  echo 'blocks: {wide: {layers: [{dense: {units: 1024, activation: relu}}]}}'
  echo "model: {layers: [{wide: {repeat: $layers}}, {dense: 10}], loss: softmax_cross_entropy}"
  echo 'train: {steps: 2, batch: 32, log_every: 1, exact: true, checkpoint: never, optimizer: {adam: {lr: 0.0001}}}'
} >large.yaml

losses() {
  grep -o '"split":"train".*' "$1/metrics.jsonl" | grep -o '"loss":[^,]*'
}

"$trainer" large.yaml --threads 1 -q -o alone >log 2>&1 || { cat log; exit 1; }
losses alone >expected
[ "$(wc -l <expected)" = 2 ] || { cat alone/metrics.jsonl; exit 1; }

if sh -c 'echo $$ >"$0/0/cgroup.procs"; exec "$1" large.yaml --threads 1 -q -o limited' "$groups" "$trainer" >log 2>&1; then
  echo "one process trains within $limit MiB: the limit limits nothing"
  exit 1
fi

ranks() { # NAME FLAG...
  name=$1
  shift
  # shellcheck disable=SC2016,SC2086
  $launch 4 sh -c 'groups=$0; echo $$ >"$groups/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}/cgroup.procs"; exec "$@"' \
    "$groups" "$trainer" large.yaml --threads 1 -q -o "$name" "$@" >log 2>&1 || { echo "$name:"; cat log; exit 1; }
  losses "$name" | diff expected - || { echo "$name has other losses"; exit 1; }
}
ranks mesh --mesh 1x4
ranks sharded --datapar --shard parameters
