#pragma once

#include <chrono>

#include "models/training/hook.h"

namespace trainer {

/// Finds how much of the time for communication is waiting for slower ranks: from when a rank is ready for a
/// collective until the last one is. The consensus of a step carries these times.
class Waiting {
 public:
  /// `one_host`: all ranks read the same clock. Else times count from the end of the last consensus.
  explicit Waiting(bool one_host)
      : one_host_(one_host), zero_(one_host ? Clock::time_point{} : Clock::now()) {}

  /// This rank is ready to finish the sum of gradients.
  void reach_reduce() { mine_[0] = seconds(); }
  /// And for the consensus.
  void reach_consensus(Signals& mine);
  /// After the consensus: adds to `times.waiting`, no more than the collectives took, and to
  /// `times.mean_waiting`.
  void take_from(const Signals& all, int ranks, StepTimes& times);

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - zero_).count(); }

  bool one_host_;
  Clock::time_point zero_;
  Arrivals mine_{};
};

}  // namespace trainer
