#!/bin/sh
# hosts_test.sh TRAINER NETLAB: faults of hosts and of the network between them, on three hosts that NETLAB makes of this machine.
# Prints a row for each: the fault, the exit code, seconds until the end, the message. Skipped (77) without root or NETLAB.
set -u
trainer=$(realpath "$1") netlab=$2
[ -f "$netlab" ] && [ -x "$netlab" ] && [ "$(id -u)" = 0 ] || { echo "skipped: needs root and -Dnetlab=PROGRAM"; exit 77; }
export NETLAB_NAME=trainer$$
folder=$(mktemp -d)
memory=
trap '"$netlab" down >/dev/null 2>&1; kill $memory 2>/dev/null; rm -rf "$folder"' EXIT
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

# As ssh would: only Open MPI's own variables come to another host, and the options of sanitizers.
cat >shell_of_host <<SH
#!/bin/sh
exec env -i PATH="\$PATH" NETLAB_NAME=$NETLAB_NAME ASAN_OPTIONS="${ASAN_OPTIONS-}" \\
  "$(dirname "$(readlink -f "$netlab")")/netlab-rsh" "\$@"
SH
# start ARGUMENTS: the trainer starts its ranks on the hosts by itself.
cat >start <<SH
#!/bin/sh
exec "$netlab" exec head env OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent="$folder/shell_of_host" OMPI_MCA_plm_rsh_no_tree_spawn=1 \
  OMPI_MCA_orte_default_hostfile="$folder/hostfile" OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 \
  OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_mpi_yield_when_idle=1 \
  OMPI_MCA_oob_tcp_keepalive_time=2 OMPI_MCA_oob_tcp_keepalive_intvl=1 OMPI_MCA_oob_tcp_keepalive_probes=3 \
  "$trainer" "\$@"
SH
chmod +x shell_of_host start
printf 'h1 slots=1\nh2 slots=1\nh3 slots=1\n' >hostfile

# train STEPS STALL_TIMEOUT LAUNCHER...: so many steps, in the background.
train() {
  settings="-s train.steps=$1 -s train.stall_timeout=$2"
  shift 2
  rm -rf runs
  # shellcheck disable=SC2086
  timeout -k 5 120 "$@" --datapar a.yaml -q $settings -s train.log_every=10 -s train.checkpoint.steps=100 >log 2>&1 &
  run=$!
}
# then_do NAME COMMAND: COMMAND once training runs; waits for the end.
then_do() {
  until [ -e runs/a/checkpoints/last ] || ! kill -0 $run 2>/dev/null; do sleep 0.1; done
  began=$(date +%s)
  eval "$2" >/dev/null 2>&1
  wait $run
  code=$?
  seconds=$(($(date +%s) - began))
  printf '%s | %s | %s s | %s\n' "$1" "$code" "$seconds" "$(grep -m 1 -E 'error: |warning: |best|done' log)"
}
# fault NAME MPIRUN_OPTIONS STEPS COMMAND [STALL_TIMEOUT]: on three hosts, one rank each.
fault() {
  # shellcheck disable=SC2086
  train "$3" "${5:-5}" "$netlab" run -n 3 $2 -- "$trainer"
  then_do "$1" "$4"
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

# The link that `info` measures is what `plan` takes.
"$netlab" run -n 3 -- "$trainer" info >log 2>&1
link=$(grep -o -- '--link [0-9]*Mbps,[0-9]*us,1us,[0-9]*us$' log) &&
  # shellcheck disable=SC2086
  "$trainer" plan a.yaml -n 3 --datapar --rate 1 $link >>log 2>&1 || { echo "  info measures no link:"; cat log; failures=$((failures + 1)); }
# Layers wait for parameters of other hosts: no part of a step counts twice.
"$netlab" run -n 3 -- "$trainer" time a.yaml --datapar --steps 10 -s 'model.layers=[{dense: 500}, {dense: 10}]' >log 2>&1 &&
  ! grep -q -- '-[0-9.]*%' log || { echo "  a part of a step is negative:"; cat log; failures=$((failures + 1)); }

fault "rank killed" "" $endless '"$netlab" signal 1 KILL'
expect 137 20 ""
fault "rank stopped" "" $endless '"$netlab" signal 1 STOP'
expect 7 20 "has waited 5 s for "
fault "host partitioned, keepalives set" "$give_up_soon" $endless '"$netlab" partition h3' 60
expect 205 20 ""
"$netlab" heal h3
train 2000 60 ./start -n 3 --restarts 1
then_do "host partitioned, --restarts 1" '"$netlab" partition h3'
expect 0 60 "restart 1 of 1, with 2 processes on h1 and h2"
"$netlab" heal h3
# The ranks give up before the keepalives do: the launcher then waits for the lost host, and has no child of its own here.
train $endless 3 ./start -n 3
then_do "host partitioned, trainer -n, stall_timeout 3" 'sleep 12; "$netlab" partition h3'
expect 7 40 "has waited 3 s for "
"$netlab" heal h3
# A token bucket that is narrowed keeps a packet larger than its new burst for ever, which cuts the link: take it off first.
fault "link at 1 %" "" 150 '"$netlab" rate h3 none; "$netlab" rate h3 10mbit'
expect 0 80 "saved runs/a"
"$netlab" rate h3 1gbit

# From here on each host has a /dev/shm of its own, as machines have: a host that is not used again takes its snapshot with it.
for host in h1 h2 h3; do
  unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec sleep 600' &
  memory="$memory $!"
  echo $! >memory.$host
done
cat >shell_of_host <<SH
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1 file=$folder/command.\$\$
shift
echo "\$*" >"\$file"
exec env -i PATH="\$PATH" NETLAB_NAME=$NETLAB_NAME ASAN_OPTIONS="${ASAN_OPTIONS-}" \\
  "$(dirname "$(readlink -f "$netlab")")/netlab-rsh" "\$host" "exec nsenter -t \$(cat "$folder/memory.\$host") -m sh \$file"
SH
settings="-s train.exact=true -s train.steps=3000 -s train.checkpoint.steps=1000000 -s train.log_every=10"
# shellcheck disable=SC2086
"$trainer" a.yaml -q -o whole $settings >whole.log 2>&1 || cat whole.log
rm -rf runs
# shellcheck disable=SC2086
timeout -k 5 120 ./start -n 3 --restarts 1 --datapar a.yaml -q $settings -s "train.snapshot={steps: 30}" >log 2>&1 &
run=$!
until [ "$(grep -c . runs/a/metrics.jsonl 2>/dev/null)" -gt 10 ] 2>/dev/null || ! kill -0 $run 2>/dev/null; do sleep 0.1; done
"$netlab" signal 0 KILL
wait $run
code=$? seconds=0
expect 0 60 "restart 1 of 1, with 2 processes on h2 and h3"
resumed=$(ls runs/a/environment-*[1-9]*.json 2>/dev/null)
echo "host of rank 0 lost, --restarts 1, snapshots | $code | resumed: $resumed"
[ -n "$resumed" ] || { echo "  it did not resume from a snapshot"; failures=$((failures + 1)); }
cmp whole/checkpoints/last/model.safetensors runs/a/checkpoints/last/model.safetensors || failures=$((failures + 1))

exit $failures
