#pragma once

#include <chrono>

#include "models/training/hook.h"

namespace trainer {

/// Finds how much of the time for communication is waiting for slower ranks: from when a rank is ready for a
/// collective until the last one is; of sums of statistics what they take longer than on the rank where they
/// take least. The consensus of a step carries these times.
class Waiting {
 public:
  /// `one_host`: all ranks read the same clock. Else times count from the end of the last consensus. `rank`:
  /// the data rank.
  Waiting(bool one_host, int rank)
      : one_host_(one_host), rank_(rank), zero_(one_host ? Clock::time_point{} : Clock::now()) {}

  /// This rank is ready to finish the sum of gradients. `statistics`: time for sums of statistics before.
  void reach_reduce(std::chrono::nanoseconds statistics = {}) {
    mine_[0] = seconds();
    statistics_ += std::chrono::duration<double>(statistics).count();
  }
  /// And for the consensus.
  void reach_consensus(Signals& mine);
  /// After the consensus: adds to `times.waiting`, no more than the collectives took, and to
  /// `times.mean_waiting`.
  void take_from(const Signals& all, int ranks, StepTimes& times);
  /// The data rank that has waited least in the steps before the last one; -1: there were none.
  int slowest() const { return slowest_; }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - zero_).count(); }

  bool one_host_;
  int rank_;
  Clock::time_point zero_;
  Arrivals mine_{};
  double statistics_ = 0;  ///< seconds of the step under way
  double recent_ = -1;     ///< seconds that this rank waits in a step, a moving mean; below 0: not known
  int slowest_ = -1;
};

}  // namespace trainer
