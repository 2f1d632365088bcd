#pragma once

#include <string>
#include <vector>

namespace trainer {

/// What the kernels of engine/math compute from fixed values, as a hash of its bits.
struct PortableBits {
  std::string kernels, hash;
};

/// One for each family of kernels.
std::vector<PortableBits> portable_bits();

}  // namespace trainer
