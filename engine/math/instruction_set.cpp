#include "engine/math/instruction_set.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/core/error.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

const KernelVariant& choose_kernels() {
  const char* setting = std::getenv("TRAINER_INSTRUCTIONS");
  const std::string_view limit = setting ? setting : "";
  const KernelVariant* best = nullptr;
  bool known = limit.empty();
  std::string names;
  for (const KernelVariant* variant = kernel_variants; variant->setting; ++variant) {
    // Beyond the limit only the name is of interest.
    if ((limit.empty() || !known) && variant->supported()) best = variant;
    known |= limit == variant->setting;
    names += (names.empty() ? "" : ", ") + std::string(variant->setting);
  }
  if (!known)
    throw Error(ExitCode::usage, "TRAINER_INSTRUCTIONS=" + std::string(limit) + " is unknown here",
                "one of " + names);
  return *best;
}

const KernelVariant& variant_in_use() {
  static const KernelVariant& chosen = choose_kernels();
  return chosen;
}

struct InUse {
  const Kernels* kernels = variant_in_use().kernels;
  bool portable = false;
};

InUse& in_use() {
  static InUse kernels;
  return kernels;
}

}  // namespace

const Kernels& kernels() { return *in_use().kernels; }

const Bfloat16Kernels& bfloat16_kernels() { return *variant_in_use().bfloat16; }

void use_portable_kernels(bool portable) {
  in_use() = {portable ? *variant_in_use().portable : variant_in_use().kernels, portable};
}

bool portable_kernels() { return in_use().portable; }

const char* instruction_set() { return kernels().name; }

}  // namespace trainer
