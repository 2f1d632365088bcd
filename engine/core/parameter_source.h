#pragma once

#include <cstdint>

namespace trainer {

/// Knows how far updated parameters have arrived. They arrive from the beginning of the flat buffer to its
/// end.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;

  /// Returns once the parameters before `end` are this step's. Each worker thread calls for itself, with
  /// rising ends; all workers of all ranks call in the same order.
  virtual void wait_for(int worker, std::int64_t end) = 0;
};

}  // namespace trainer
