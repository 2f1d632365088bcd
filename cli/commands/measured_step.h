#pragma once

#include <cstdint>

#include "cli/commands/planned_run.h"

namespace trainer {

/// The time of a training step in this process.
struct MeasuredStep {
  ComputingTimes times;      ///< their sum is the median step
  double low = 1, high = 1;  ///< the quartiles of the steps' times, over their median
  int steps = 0;
  std::int64_t program = 0;  ///< bytes of the process besides what a plan of its memory holds
};

/// Trains on a few samples of the run's data for some seconds and saves nothing. `cores`: that this process
/// may use. Not collective.
MeasuredStep measure_step(const ConfigSource& config, const PlannedRun::Measured& how, int cores);

}  // namespace trainer
