#pragma once

#include "cli/commands/run_start.h"

namespace trainer {

/// With `train.balance: measured`, divides batches over data ranks: by the shares in the run's checkpoint if
/// it has as many ranks, else by measured speeds. Call it before the training run is made.
/// `oversubscribed`: more workers than cores. True if it has loaded the samples, which measuring needs.
/// Collective.
bool divide_batches(const Job& job, const RunStart& start, const OpenRun& run, bool oversubscribed);

}  // namespace trainer
