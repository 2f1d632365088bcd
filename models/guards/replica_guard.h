#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/parameter_window.h"
#include "models/network/plan.h"
#include "models/training/hook.h"

namespace trainer {

/// Watches what several ranks hold alike: parameters on each node and in each model column, and layer states
/// on every rank. Every so many steps checksums of all of it are compared. In between, the values that came
/// from other nodes must be as they came until the next ones overwrite them; in a large model a part of them
/// is looked at in each step, all of it in so many steps.
class ReplicaGuard final : public Hook {
 public:
  /// `every`: steps between comparisons, 0: no guard. Network states stay where they are.
  ReplicaGuard(const Plan& plan, std::span<const float> states, Mesh& mesh, ParameterWindow& window,
               std::int64_t every);

  /// Error(diverged) when what came from other nodes has changed; `step`: steps done. Before
  /// GradientReducer::publish().
  void before_publish(std::int64_t step) override;
  /// Error(diverged), on all ranks, when replicas differ. Collective.
  void after_publish(std::int64_t step) override;

 private:
  struct Copy {
    std::span<const float> values;
    int parameter;
    std::uint64_t sum;
  };

  std::vector<std::uint64_t> hashes() const;
  void compare(std::int64_t step);
  std::span<Copy> watched();

  const Plan& plan_;
  std::span<const float> states_;
  Mesh& mesh_;
  ParameterWindow& window_;
  std::int64_t every_, last_equal_ = 0;
  bool has_replicas_ = false;
  std::vector<Copy> copies_;
  std::size_t first_watched_ = 0, most_watched_ = 0;
};

}  // namespace trainer
