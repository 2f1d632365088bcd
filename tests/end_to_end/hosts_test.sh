#!/bin/sh
# hosts_test.sh TRAINER NETLAB: faults of hosts and of the network between them, on three hosts that NETLAB makes of this machine.
# Prints a row for each: the fault, the exit code, seconds until the end, the message. Skipped (77) without root or NETLAB.
set -u
trainer=$(realpath "$1") netlab=$2
[ -x "$netlab" ] && [ "$(id -u)" = 0 ] || { echo "skipped: needs root and $netlab"; exit 77; }
export NETLAB_NAME=trainer$$
folder=$(mktemp -d)
trap '"$netlab" down >/dev/null 2>&1; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export HOME=$folder TRAINER_DATA=/nowhere
failures=0

cat >a.yaml <<YAML
data: {dataset: digits, fraction: 0.02}
model:
  layers: [{dense: {units: 50, activation: relu}}, {dense: 10}]
  loss: softmax_cross_entropy
train: {epochs: 1, batch: 60, optimizer: {sgd: {lr: 0.1, momentum: 0.9}}, evaluate: never}
YAML
give_up_soon="--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3"

# fault NAME MPIRUN_OPTIONS STEPS COMMAND [STALL_TIMEOUT]: so many steps on three hosts, one rank each; COMMAND once training goes on.
fault() {
  name=$1 options=$2 steps=$3 command=$4 patience=${5:-5}
  rm -rf runs
  # shellcheck disable=SC2086
  timeout -k 5 90 "$netlab" run -n 3 $options -- "$trainer" --datapar a.yaml -q -s train.steps="$steps" \
    -s train.log_every=10 -s train.stall_timeout="$patience" -s train.checkpoint.steps=100 >log 2>&1 &
  run=$!
  until [ -e runs/a/checkpoints/last ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done
  began=$(date +%s)
  eval "$command" >/dev/null 2>&1
  wait $run
  code=$?
  seconds=$(($(date +%s) - began))
  printf '%s | %s | %s s | %s\n' "$name" "$code" "$seconds" "$(grep -m 1 -E 'error: |best|done' log)"
}
# expect CODE SECONDS_AT_MOST WORDS
expect() {
  [ "$code" = "$1" ] && [ "$seconds" -le "$2" ] && grep -q "$3" log && [ -e runs/a/checkpoints/last/model.safetensors ] &&
    return
  echo "  expected code $1 within $2 s and \"$3\"; printed:"
  cat log
  failures=$((failures + 1))
}

"$netlab" up 3 --rate 1gbit >up.log 2>&1 || { echo "skipped: $netlab cannot make hosts here: $(cat up.log)"; exit 77; }
endless=1000000000

fault "rank killed" "" $endless '"$netlab" signal 1 KILL'
expect 137 20 ""
fault "rank stopped" "" $endless '"$netlab" signal 1 STOP'
expect 7 20 "has waited 5 s for "
fault "host partitioned, keepalives set" "$give_up_soon" $endless '"$netlab" partition h3' 60
expect 205 20 ""
"$netlab" heal h3
fault "link at 1 %" "" 150 '"$netlab" rate h3 10mbit'
expect 0 80 "saved runs/a"

exit $failures
