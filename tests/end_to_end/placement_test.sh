#!/bin/sh
# placement_test.sh TRAINER CONFIG SETTING...: a hundred steps of a config give the same losses, to 1e-4, on one process and in
# every mode on 2 to 4 ranks, on one node and on several. 1,007 samples in batches of 100: 3 ranks do not divide the batch, and the
# last batch of an epoch holds 7.
set -eu
trainer=$(realpath "$1") config=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset TRAINER_DATA || true
cd "$folder"

run() {
  name=$1
  shift
  "$trainer" "$config" "$@" -q -o "$folder/$name" -s train.steps=100 -s train.batch=100 -s data.dataset=digits \
    -s data.fraction=0.016783 -s train.log_every=1 -s train.evaluate=never -s train.checkpoint=never $settings >log 2>&1 ||
    { echo "$name failed:"; cat log; exit 1; }
  sed -n 's/.*"split":"train","loss":\([^,]*\),.*/\1/p' "$name/metrics.jsonl" >"$name.losses"
}
settings=
for setting; do settings="$settings -s $setting"; done

run alone --threads 1
[ "$(wc -l <alone.losses)" -eq 100 ] || { echo "one process logged $(wc -l <alone.losses) losses, not 100"; exit 1; }
failed=0
compare() {
  run "$@"
  paste alone.losses "$1.losses" | awk -v name="$1" '
    { d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d <= largest)) largest = d }
    END { bad = NR != 100 || !(largest < 1e-4)
          printf "%-28s largest relative difference %.1e%s\n", name, largest, bad ? "  TOO LARGE" : ""; exit bad }' || failed=1
}
compare two-threads --threads 2
for ranks in 2 3 4; do
  compare "datapar-$ranks" -n $ranks --datapar --threads 1
  compare "modelpar-$ranks" -n $ranks --modelpar --threads 1
done
compare mesh-2x2 -n 4 --mesh 2x2 --threads 1
compare datapar-4-on-2-nodes -n 4 --datapar --ranks-per-node 2 --threads 1
compare modelpar-4-on-2-nodes -n 4 --modelpar --ranks-per-node 2 --threads 1
compare mesh-2x2-on-2-nodes -n 4 --mesh 2x2 --ranks-per-node 2 --threads 1
compare datapar-2-and-1 -n 3 --datapar --ranks-per-node 2 --threads 1
compare modelpar-2-and-1 -n 3 --modelpar --ranks-per-node 2 --threads 1
exit $failed
