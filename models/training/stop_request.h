#pragma once

#include <functional>
#include <optional>

#include "models/training/hook.h"

namespace trainer {

/// Signals that the run should stop: a signal of the system, or a time limit.
struct StopRequest final : Hook {
  std::function<bool()> is_requested;  ///< called at each step, and during evaluations
  /// The run stops early enough to have saved by then; on world rank 0.
  std::optional<Progress::Clock::time_point> deadline;

  StopRequest(std::function<bool()> requested, std::optional<Progress::Clock::time_point> until)
      : is_requested(std::move(requested)), deadline(until) {}

  bool is_due(const Progress& run, Progress::Clock::time_point now) const {
    if (is_requested && is_requested()) return true;
    return deadline && now + run.time_to_stop() >= *deadline;
  }
  void before_consensus(const Progress& run, Signals& mine) override {
    mine.stop |= is_due(run, run.step_start);
  }
};

}  // namespace trainer
