#include "engine/math/kernels/kernels.h"

namespace trainer {

namespace baseline {
extern const Kernels kernels;
}

const KernelVariant kernel_variants[] = {
    {"baseline", [] { return true; }, &baseline::kernels},
    {nullptr, nullptr, nullptr},
};

}  // namespace trainer
