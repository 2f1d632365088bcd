#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/parameter_windows.h"
#include "models/network/network_plan.h"
#include "models/training/hook.h"

namespace trainer {

/// Compares replicas: parameters on each node, and in each model column where columns have their own, and
/// layer states on every rank. Every `every` steps it compares checksums of all of them. In between, the
/// values that came from other nodes must stay as they came until the next ones overwrite them; of a large
/// model, each step checks a part of them, and `every` steps check all.
class ReplicaGuard final : public Hook {
 public:
  /// `every`: steps between comparisons. `states` stay where they are. Collective.
  ReplicaGuard(const NetworkPlan& plan, std::span<const float> states, Mesh& mesh, ParameterWindows& windows,
               std::int64_t every);

  void on_start(std::int64_t done) override { seen_ = last_equal_ = done; }
  /// Error(diverged) if values that came from other nodes have changed.
  void before_arrivals(std::int64_t step) override;
  /// Error(diverged), on all ranks, if replicas differ. Collective.
  void after_publish(std::int64_t step) override;

 private:
  struct Replica {
    std::span<const float> values;
    int parameter;
    std::uint64_t sum;
  };

  void add_replicas(const ParameterWindow& window, std::int64_t offset);
  std::vector<std::uint64_t> hashes() const;
  void compare(std::int64_t step);
  /// What each rank sends of its replicas to rank 0.
  using Messages = std::vector<std::vector<std::byte>>;
  /// Which two ranks have unequal replicas of a parameter, or of a state behind them; empty: none.
  std::string difference_of(std::size_t item, const Messages& messages) const;
  std::span<Replica> watched();

  const NetworkPlan& plan_;
  std::span<const float> states_;
  Mesh& mesh_;
  ParameterWindows& windows_;
  std::int64_t every_, last_equal_ = 0, seen_ = 0;
  bool has_replicas_ = false;
  std::vector<Replica> replicas_;
  std::size_t first_watched_ = 0, most_watched_ = 0;
};

}  // namespace trainer
