#!/bin/sh
# coverage.sh BUILD [CORPUS]: the lines of each parser that the corpora reach, in percent. BUILD is made with
#   CXX=clang++ CXXFLAGS="-fprofile-instr-generate -fcoverage-mapping" LDFLAGS=-fprofile-instr-generate \
#     meson setup BUILD -Dwerror=false -Doptimization=1
# CORPUS is what fuzzers have gathered, BUILD-FUZZ/tests/fuzz/corpus.
set -eu
build=$(realpath "$1")
gathered=${2:+$(realpath "$2")}
sources=$(dirname "$(realpath "$0")")
tools=$(dirname "$(realpath "$(command -v clang++)")")
cd "$sources/../.."
ninja -C "$build" tests/fuzz/fuzz-replay tests/fuzz/seeds >/dev/null
cover() { # TARGET FILE...
  target=$1
  more=
  [ "$target" != config ] || more=configs
  shift
  LLVM_PROFILE_FILE="$build/$target.profraw" OPENBLAS_NUM_THREADS=1 "$build/tests/fuzz/fuzz-replay" "$target" \
    "$build/tests/fuzz/seeds/$target" "$sources/found/$target" $more ${gathered:+"$gathered/$target"} >/dev/null
  "$tools/llvm-profdata" merge -o "$build/$target.profdata" "$build/$target.profraw"
  for file; do
    # Of all files: llvm-cov finds none by a name that is not as the compiler wrote it.
    "$tools/llvm-cov" report "$build/tests/fuzz/fuzz-replay" -instr-profile="$build/$target.profdata" \
      -show-region-summary=false -show-branch-summary=false |
      awk -v target="$target" -v file="/$file" 'substr($1, length($1) - length(file) + 1) == file {
        print target, substr(file, 2), $5 - $6 "/" $5, $7}'
  done
}
cover cifar10 datasets/readers/cifar10.cpp datasets/readers/byte_reader.cpp
cover cifar100 datasets/readers/cifar100.cpp datasets/readers/cifar_set.cpp
cover config engine/config/yaml_reader.cpp engine/config/checker.cpp engine/config/checker_values.cpp \
  engine/config/expansion.cpp engine/config/scalar.cpp engine/config/source.cpp
cover csv datasets/readers/csv_table.cpp
cover gzip datasets/readers/byte_reader.cpp
cover hdf5 datasets/readers/hdf5_file.cpp datasets/readers/hdf5_dataset.cpp datasets/readers/hdf5_stream.cpp
cover idx datasets/readers/idx_file.cpp datasets/readers/idx_set.cpp
cover layer models/layers/plan.cpp models/layers/sequence.cpp
cover merges datasets/readers/byte_pair_tokenizer.cpp
cover npy datasets/readers/npy_array.cpp
cover overrides engine/config/layering.cpp
cover image datasets/readers/image_file.cpp datasets/readers/png.cpp datasets/readers/jpeg.cpp \
  datasets/readers/webp.cpp
cover run_log cli/reports/report.cpp cli/reports/run_log.cpp models/checkpoints/run_directory.cpp
cover safetensors models/formats/safetensors.cpp
cover state models/checkpoints/checkpoint_state.cpp
cover text engine/core/utf8.cpp datasets/readers/character_tokenizer.cpp
cover zip datasets/readers/zip_file.cpp
