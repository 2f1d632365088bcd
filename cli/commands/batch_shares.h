#pragma once

#include "cli/commands/run_start.h"

namespace trainer {

/// With `train.balance: measured`, divides batches over data ranks: as the checkpoint of the run has it, if
/// it is of as many ranks, else by measured speeds. To be called before the training run is made.
/// `oversubscribed`: more workers than cores. True if it has loaded the samples, which measuring needs.
/// Collective.
bool divide_batches(const Job& job, const RunStart& start, const OpenRun& run, bool oversubscribed);

}  // namespace trainer
