#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/commands/planned_run.h"

namespace trainer {

/// The time of a training step in this process.
struct MeasuredStep {
  ComputingTimes times;      ///< their sum is the median of with_pauses()
  double low = 1, high = 1;  ///< the quartiles of these, over their median
  int steps = 0;
  std::int64_t program = 0;  ///< bytes of the process besides what a plan of its memory holds
};

/// The times of consecutive steps as means over 0.1 s at the least: a short step alone holds no pause that
/// the system's scheduler makes after some of them. Of fewer steps one mean.
std::vector<double> with_pauses(std::span<const double> seconds);

/// Trains on a few samples of the run's data for some seconds and saves nothing. `cores`: that this process
/// may use. Not collective.
MeasuredStep measure_step(const ConfigSource& config, const PlannedRun::Measured& how, int cores);

}  // namespace trainer
