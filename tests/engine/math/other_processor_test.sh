#!/bin/sh
# Portable kernels have the recorded bits on another architecture, under an emulator. Usage: other_processor_test.sh ARCHITECTURE PROJECT_ROOT MAIN
set -eu
architecture=$1
main=$(realpath "$3")
cd "$2"
compiler=$architecture-linux-gnu-g++
for program in "$compiler" "qemu-$architecture"; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s /usr/include/fmt "$folder/fmt"
# In place of OpenBLAS, which portable runs do not call.
cat >"$folder/cblas.h" <<'EOF'
#pragma once
#include <cstdlib>

using blasint = int;
enum CBLAS_ORDER { CblasRowMajor };
enum CBLAS_TRANSPOSE { CblasNoTrans, CblasTrans };

inline int openblas_get_parallel() { return 1; }
inline const char* openblas_get_config() { return "OpenBLAS none"; }
inline const char* openblas_get_corename() { return "none"; }
inline void openblas_set_num_threads(int) {}
template <class... Arguments>
void cblas_sgemm(Arguments...) {
  std::abort();
}
EOF

# compile NAMESPACE FLAGS SOURCE...
compile() {
  prefix=$1
  flags=$2
  shift 2
  for source in "$@"; do
    # Unquoted on purpose: a list of flags.
    "$compiler" -std=c++20 -O1 -w -ffp-contract=off -DFMT_HEADER_ONLY -I. -I"$folder" $flags \
      -c "$source" -o "$folder/$prefix-$(basename "$(dirname "$source")")-$(basename "$source" .cpp).o"
  done
}

products="engine/math/kernels/convolution.cpp engine/math/kernels/convolution_weights.cpp
  engine/math/kernels/depthwise.cpp engine/math/kernels/gemm.cpp"
others=$(for name in activations attention checksum elementwise normalization pooling recurrent square_sum table uniform updates; do
  echo "engine/math/kernels/$name.cpp"; done)
registers=16
[ "$architecture" != aarch64 ] || registers=32
kernel_flags='-fno-math-errno -fno-trapping-math -DKERNEL_LABEL="plain" -DKERNEL_LANES=4'
compile baseline "$kernel_flags -DKERNEL_NAMESPACE=baseline -DKERNEL_REGISTERS=$registers" $products $others
compile pairs "$kernel_flags -DKERNEL_NAMESPACE=baseline_pairs -DKERNEL_REGISTERS=$registers -DKERNEL_BFLOAT16_PAIRS" \
  engine/math/kernels/bfloat16.cpp engine/math/kernels/convolution.cpp engine/math/kernels/convolution_weights.cpp engine/math/kernels/gemm.cpp
if "$compiler" -dM -E -x c++ /dev/null | grep -q __FP_FAST_FMAF; then
  compile chosen '' engine/math/kernels/fused_baseline.cpp
else
  compile software "$kernel_flags -DKERNEL_NAMESPACE=software -DKERNEL_REGISTERS=16 -DKERNEL_SOFTWARE_FMA" $products
  compile chosen '' engine/math/kernels/software_baseline.cpp
fi
compile chosen '' engine/math/*.cpp engine/math/types/geometry.cpp engine/math/kernels/variants_portable.cpp engine/system/subnormals.cpp engine/system/shared_work.cpp \
  engine/core/random.cpp engine/core/sha256.cpp engine/core/sha256_blocks.cpp engine/core/elementary.cpp engine/core/error.cpp engine/core/escape.cpp engine/core/utf8.cpp \
  engine/core/sum_tree.cpp engine/core/shape.cpp engine/core/arena.cpp engine/core/memory_ledger.cpp tests/engine/math/portable_bits.cpp "$main"
# -pthread: with it RISC-V has atomic bytes from libatomic.
"$compiler" -static -pthread "$folder"/*.o -o "$folder/portable"
"qemu-$architecture" "$folder/portable"
