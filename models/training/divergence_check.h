#pragma once

#include <string>

#include "models/training/hook.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Ends runs whose loss, gradients, parameters or states are not finite. Collective.
class DivergenceCheck {
 public:
  explicit DivergenceCheck(TrainingParts& parts) : parts_(parts) {}

  /// Error(diverged) if a parameter, optimizer state or layer state of any rank is not finite.
  void check_arrays(const Progress& run, Hook& hooks) const;
  /// `array`: this rank's array that is not finite; empty if the loss or a gradient is.
  [[noreturn]] void fail(const Progress& run, Hook& hooks, const std::string& array = "") const;

 private:
  /// The name of this rank's first array that is not finite; empty: none.
  std::string array_not_finite() const;

  TrainingParts& parts_;
};

}  // namespace trainer
