#pragma once

#include <span>

#include "engine/core/range.h"

namespace trainer {

/// Has the updated parameters, or knows how far they have arrived.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;

  /// Returns once the parameters in these ranges of the flat buffer are this step's; they stay until
  /// release(). Each worker thread calls for itself, before the forward and the backward of each layer; all
  /// workers of all ranks call in the same order.
  virtual void acquire(int worker, std::span<const Range> parameters) = 0;
  /// True if a layer may acquire its parameters part by part, in the order of the flat buffer, without
  /// release().
  virtual bool has_parts() const { return false; }
  /// The layer is done.
  virtual void release(int, std::span<const Range>) {}
};

}  // namespace trainer
