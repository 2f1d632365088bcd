#!/bin/sh
# no_cliff.sh TRAINER CONFIG=EPOCHS...: images/s of every number of ranks and threads on one core and on two, and for each set
# of cores how much slower the slowest is than the fastest. In brackets: more threads than cores were asked for, which the
# program warns of; they do not count. Ends with 1 where the slowest has less than half of the fastest.
# Where our own matrix products do not serve, OpenBLAS does: the same follows for each of its builds that Debian has installed, with a
# quarter of the samples. RUNS: of how many runs the fastest counts.
set -eu
trainer=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The environment may force slower BLAS kernels than this CPU has, and threads.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE OMP_NUM_THREADS TRAINER_DATA || true
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
runs=${RUNS:-3}
fraction=1

# The fastest of several runs: others may use the machine at the same time. All epochs but the first count.
rate() {
  cores=$1 config=$2 epochs=$3
  shift 3
  for _ in $(seq "$runs"); do
    timeout 120 taskset -c "$cores" "$trainer" "$@" "$config" -q -o "$folder/run" -s train.epochs="$epochs" \
      -s data.fraction="$fraction" -s train.evaluate=never -s train.checkpoint=never -s train.optimizer.sgd.lr=0.001 >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    column=$(head -n 1 "$folder/run/results.csv" | tr , '\n' | grep -n '^examples_per_second$' | cut -d: -f1)
    tail -n +3 "$folder/run/results.csv" | cut -d, -f "$column" | awk '{ time += 1 / $1 } END { print NR / time }'
    rm -rf "$folder/run"
  done | sort -n | tail -n 1
}

# The lines of one table for a config and its cores; the words are numbers of ranks.
lines() {
  name=$1 config=$2 epochs=$3 cores=$4
  shift 4
  count=$(echo "$cores" | tr , '\n' | wc -l)
  for ranks; do
    for threads in 0 1 2; do
      place=
      [ "$ranks" -eq 1 ] || place="-n $ranks --datapar"
      [ "$threads" -eq 0 ] || place="$place --threads $threads"
      # shellcheck disable=SC2086 # several words
      echo "$count $ranks $threads $(rate "$cores" "$config" "$epochs" $place)"
    done
  done | awk -v name="$name" '
    { share = $1 / $2 < 1 ? 1 : $1 / $2
      exempt = $3 > share
      if (!exempt && (!slowest || $4 < slowest)) slowest = $4
      if (!exempt && $4 > fastest) fastest = $4
      if (NR % 3 == 1) ranks[++rows] = $2
      line[rows] = line[rows] " | " sprintf(exempt ? "(%d)" : "%d", $4)
      cores = $1 }
    END { for (i = 1; i <= rows; ++i)
            printf "| %s | %d | %d%s | %s |\n", name, cores, ranks[i], line[i], i == rows ? sprintf("%.2f", slowest / fastest) : ""
          exit slowest < fastest / 2 }' || touch "$folder/cliff"
}

# The tables of all configs; the word follows their names.
all_lines() {
  suffix=$1
  shift
  for work; do
    for cores in 0 0,1; do
      lines "$(basename "${work%=*}" .yaml)$suffix" "$(realpath "${work%=*}")" "${work#*=}" "$cores" 1 2 4
    done
  done
}

"$trainer" info | grep -E '^(cpu|blas|mpi) '
echo
echo "| config | cores | ranks | default | 1 thread | 2 threads | slowest / fastest |"
echo "|---|---|---|---|---|---|---|"
all_lines "" "$@"
export TRAINER_INSTRUCTIONS=baseline
fraction=0.25
for build in /usr/lib/*/openblas-*; do
  [ -d "$build" ] || continue
  export LD_LIBRARY_PATH="$build"
  all_lines ", $(basename "$build")" "$@"
done
[ ! -e "$folder/cliff" ] || { echo "a cliff: less than half of the speed on the same cores"; exit 1; }
