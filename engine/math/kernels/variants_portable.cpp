#include "engine/math/kernels/portable_baseline.h"

namespace trainer {

namespace baseline_pairs {
extern const Bfloat16Kernels bfloat16_kernels;
}

const KernelVariant kernel_variants[] = {
    {"baseline", [] { return true; }, &baseline::kernels, &portable_baseline,
     &baseline_pairs::bfloat16_kernels},
    {},
};

}  // namespace trainer
