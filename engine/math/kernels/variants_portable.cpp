#include "engine/math/kernels/portable_baseline.h"

namespace trainer {

const KernelVariant kernel_variants[] = {
    {"baseline", [] { return true; }, &baseline::kernels, &portable_baseline},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace trainer
