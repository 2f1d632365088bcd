#pragma once

#include <chrono>
#include <cstdint>

#include "models/training/observer.h"

namespace trainer {

/// Estimates the time that is left of a run: its steps, and what comes between the last step of an epoch and
/// its row, which is mostly the evaluation.
class RunPace {
 public:
  using Clock = std::chrono::steady_clock;

  void start(const RunFacts& facts, Clock::time_point now);
  void note_step(std::int64_t step, Clock::time_point now);
  void note_epoch(Clock::time_point now);

  /// After the last step that was noted.
  double seconds_left() const;

 private:
  std::int64_t steps_per_epoch_ = 1, total_steps_ = 0, first_step_ = 0, step_ = 0;
  int epochs_ = 0;
  Clock::time_point last_{};
  Clock::duration in_steps_{}, between_{};
};

}  // namespace trainer
