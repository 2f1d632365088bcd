#!/bin/sh
# long_run.sh BUILD RUNS [TARGET...]: RUNS executions of each fuzzer of a build folder made with -Dfuzz=true, one after
# the other on one core. New inputs go to BUILD/tests/fuzz/corpus, inputs that break something to BUILD/tests/fuzz/found-*.
# The last line for each target: executions, executions a second, edges covered, peak memory in MiB.
set -eu
build=$(realpath "$1")
runs=$2
shift 2
sources=$(dirname "$(realpath "$0")")
[ $# -gt 0 ] || set -- $(ls "$sources" | sed -n 's/_fuzz.cpp$//p')
cd "$build/tests/fuzz"
for target; do
  limits=$(sed -n "s/^  '${target}_fuzz.cpp': \['\(.*\)'\],/\1/p" "$sources/meson.build")
  dictionary=
  [ ! -f "$sources/$target.dict" ] || dictionary="-dict=$sources/$target.dict"
  more=
  [ "$target" != config ] || more=$sources/../../configs
  mkdir -p "corpus/$target"
  OPENBLAS_NUM_THREADS=1 nice -n 19 "./fuzz-$target" -runs="$runs" -timeout=1 -rss_limit_mb=512 \
    -print_final_stats=1 -artifact_prefix="found-$target-" $limits $dictionary \
    "corpus/$target" "seeds/$target" $(ls -d "$sources/found/$target" 2>/dev/null) $more >"$target.log" 2>&1 ||
    { tail -n 40 "$target.log"; exit 1; }
  awk -v target="$target" '/ cov: /{cover = $4} /^stat::number_of_executed/{runs = $2} /^stat::average_exec/{speed = $2}
    /^stat::peak_rss/{memory = $2} END{printf "%s: %d executions, %d a second, %d edges, %d MiB\n", target, runs, speed,
    cover, memory}' "$target.log"
done
