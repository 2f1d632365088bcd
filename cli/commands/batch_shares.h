#pragma once

#include "cli/commands/run_start.h"

namespace trainer {

/// Where `train.balance: measured` holds, divides batches over data ranks: as the run's checkpoint has it for
/// as many ranks, else by their speeds, which needs the samples. Before the training run is made.
/// `oversubscribed`: more workers than cores. True if it has loaded the samples. Collective.
bool divide_batches(const Job& job, const RunStart& beginning, const OpenRun& run, bool oversubscribed);

}  // namespace trainer
