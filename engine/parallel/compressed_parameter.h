#pragma once

#include <cstdint>
#include <span>

#include "engine/core/range.h"

namespace trainer {

/// A parameter as methods with error feedback see it.
struct CompressedParameter {
  Range range;              ///< floats of the flat buffer
  bool in_float32 = false;  ///< it is sent as it is
  /// PowerSGD: a matrix of this shape, and its factor (rank, columns), which stays from step to step and is
  /// the same on all ranks. Empty: the parameter is sent as it is.
  std::int64_t rows = 0, columns = 0;
  std::span<float> factor = {};
  /// One bit a gradient: the momentum of the sums that all ranks know, the same on all of them. Empty: none.
  std::span<float> momentum = {};
};

}  // namespace trainer
