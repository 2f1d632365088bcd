#pragma once

#include "models/training/hook.h"

namespace trainer {

/// Stops a run after the first evaluation with which a share of its steps is done. The run is as after any
/// stop, but its evaluation is complete: it resumes as if it had not stopped.
class Pause final : public Hook {
 public:
  /// `share` in (0, 1]; 1: never stops. `evaluated`: the run resumes after an evaluation.
  Pause(double share, bool evaluated, Progress& run) : share_(share), total_(run.total_steps) {
    if (evaluated) stop_at(run);
  }

  /// To be called after the evaluation and before the end of the epoch.
  void between_steps(Progress& run) override {
    if (run.evaluation) stop_at(run);
  }
  void on_end(Progress& run) override { run.result.stopped |= is_over_; }

 private:
  void stop_at(Progress& run) {
    // A third of 300 steps is step 100, whatever 1.0 / 3 is in binary.
    constexpr double kRounding = 1e-9;
    const auto done = static_cast<double>(run.step), total = static_cast<double>(total_);
    if (run.result.stopped || run.step >= run.total_steps || done < (share_ - kRounding) * total) return;
    is_over_ = true;
    run.total_steps = run.step;
  }

  double share_;
  std::int64_t total_;
  bool is_over_ = false;
};

}  // namespace trainer
