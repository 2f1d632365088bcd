#pragma once

#include <chrono>

namespace trainer {

inline double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Measures the phases of a step, one after the other.
class StepClock {
 public:
  /// The time since the last lap belongs to no phase.
  void lap() { last_ = Clock::now(); }
  /// It belongs to `phase`.
  void lap(std::chrono::nanoseconds& phase) {
    const auto now = Clock::now();
    phase += now - last_;
    last_ = now;
  }
  /// Since the step began.
  std::chrono::nanoseconds total() const { return last_ - begun_; }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begun_ = Clock::now(), last_ = begun_;
};

}  // namespace trainer
