#pragma once

#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/hosted_states.h"
#include "models/training/training_parts.h"

namespace trainer {

/// The residuals of error feedback, one of each data rank, as checkpoints keep them:
/// "conv1.weight.rank0.residual".
class ResidualStates final : public HostedStates {
 public:
  explicit ResidualStates(TrainingParts& parts);

  const std::vector<std::string>& names() const override { return names_; }
  int host(std::size_t state) const override { return static_cast<int>(state); }
  std::span<float> values(std::size_t state) override;

  /// The names of the residuals in a checkpoint of any number of ranks.
  static std::vector<std::string> names_in(const Checkpoint& checkpoint, const NetworkPlan& plan);
  /// Takes the residuals of a checkpoint, which world rank 0 has. As many ranks as it was made on get their
  /// own; else consecutive residuals are added, so that their sum stays the same. Collective.
  void restore(const Checkpoint& checkpoint);

 private:
  static std::string name_of(std::int64_t rank);

  TrainingParts& parts_;
  std::vector<std::string> names_;
};

}  // namespace trainer
