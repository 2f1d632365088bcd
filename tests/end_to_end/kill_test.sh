#!/bin/sh
# kill_test.sh TRAINER KILLS [exact]: a run that is killed with SIGKILL again and again, and resumes each time, ends with the weights,
# optimizer and metrics of an undisturbed one. A third of the kills come at random instants, a third while a checkpoint is being
# written, a third during an evaluation. With `exact`, each start uses another number of ranks and threads.
set -eu
trainer=$(realpath "$1") kills=$2 exact=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >run.yaml <<'YAML'
data: {dataset: digits, fraction: 0.01, augment: [{random_crop: {pad: 2}}]}
model:
  layers:
    - conv: {filters: 4, kernel: 3}
    - batch_norm
    - relu
    - max_pool: 2
    - dense: {units: 150, activation: relu}
    - dropout: 0.3
    - dense: 10
  loss: softmax_cross_entropy
train:
  epochs: 25
  batch: 70
  optimizer: {sgd: {lr: 0.02, momentum: 0.9}}
  metrics: [accuracy]
  log_every: 1
  evaluate: {steps: 10}
  checkpoint: {steps: 7}
YAML
settings=
[ -z "$exact" ] || settings="-s train.exact=true"

# shellcheck disable=SC2086
"$trainer" run.yaml -q -o whole --threads 1 $settings >log 2>&1 || { cat log; exit 1; }

# The n-th start's flags.
placement() {
  [ -n "$exact" ] || { echo "--threads 1"; return; }
  case $(($1 % 5)) in
    0) echo "--threads 1" ;;
    1) echo "-n 2 --datapar --threads 1" ;;
    2) echo "-n 3 --datapar --threads 1" ;;
    3) echo "--threads 2" ;;
    4) echo "-n 4 --mesh 2x2 --threads 1" ;;
  esac
}
last_step() { [ -s killed/metrics.jsonl ] && tail -n 1 killed/metrics.jsonl; }
is_writing() { set -- killed/checkpoints/*.partial; [ -e "$1" ]; }
# The line of a step after which the samples are due is there, theirs not.
is_evaluating() { last_step | grep -q '"step":[0-9]*0,.*"split":"train"'; }
kill_all() {
  for child in $(cat /proc/"$1"/task/*/children); do kill_all "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}
random=20
next_random() { random=$(((random * 1103515245 + 12345) % 2147483648)); }

mkdir killed
"$trainer" config run.yaml $settings >killed/config.yaml
done=0 writing=0 evaluating=0 start=0
while [ "$done" -lt "$kills" ]; do
  # shellcheck disable=SC2046
  "$trainer" killed -q $(placement "$start") >log 2>&1 &
  run=$!
  start=$((start + 1))
  before=$(last_step || true)
  while [ "$(last_step || true)" = "$before" ] && kill -0 $run 2>/dev/null; do sleep 0.01; done
  case $((done % 3)) in
    0) next_random; sleep "0.$(printf %03d $((random / 65536 % 400)))" ;;
    1) until is_writing || ! kill -0 $run 2>/dev/null; do :; done ;;
    2) until is_evaluating || ! kill -0 $run 2>/dev/null; do :; done ;;
  esac
  if ! kill -0 $run 2>/dev/null; then
    wait $run || { echo "start $start failed:"; cat log; exit 1; }
    echo "the run ended before kill $((done + 1)) of $kills"
    # Each kind of kill was there; but twenty are twenty.
    [ "$done" -gt 2 ] && [ "$kills" -lt 20 ] || exit 1
    break
  fi
  kill_all $run
  wait $run 2>/dev/null || true
  done=$((done + 1))
  ! is_writing || writing=$((writing + 1))
  ! is_evaluating || evaluating=$((evaluating + 1))
done
"$trainer" killed -q --threads 1 >log 2>&1 || { echo "the last start failed:"; cat log; exit 1; }

failed=0
for file in model optimizer; do
  cmp "whole/checkpoints/last/$file.safetensors" "killed/checkpoints/last/$file.safetensors" || failed=1
done
for run in whole killed; do
  sed 's/,"examples_per_second".*//' $run/metrics.jsonl >$run.metrics
  cut -d, -f1,3-7 $run/results.csv >$run.results
done
cmp whole.metrics killed.metrics || failed=1
cmp whole.results killed.results || failed=1
! is_writing || { echo "a part of a checkpoint stayed behind"; failed=1; }
echo "$done kills, $writing during a checkpoint, $evaluating during an evaluation, $start starts"
[ "$writing" -gt 0 ] && [ "$evaluating" -gt 0 ] || { echo "none of some kind: nothing is proved"; failed=1; }
exit $failed
