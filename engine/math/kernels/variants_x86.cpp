#include "engine/math/kernels/portable_baseline.h"

namespace trainer {

namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
namespace baseline_pairs {
extern const Bfloat16Kernels bfloat16_kernels;
}
namespace avx2_pairs {
extern const Bfloat16Kernels bfloat16_kernels;
}
namespace avx512_pairs {
extern const Bfloat16Kernels bfloat16_kernels;
}

namespace {

const Kernels *const fused_avx2 = &avx2::kernels, *const fused_avx512 = &avx512::kernels;

// The compiler's builtins also ask whether the operating system saves the wide registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

}  // namespace

const KernelVariant kernel_variants[] = {
    {"baseline", [] { return true; }, &baseline::kernels, &portable_baseline,
     &baseline_pairs::bfloat16_kernels},
    {"avx2", has_avx2, &avx2::kernels, &fused_avx2, &avx2_pairs::bfloat16_kernels},
    {"avx512", has_avx512, &avx512::kernels, &fused_avx512, &avx2_pairs::bfloat16_kernels},
    {"avx512_bf16", has_avx512_bf16, &avx512::kernels, &fused_avx512, &avx512_pairs::bfloat16_kernels},
    {},
};

}  // namespace trainer
