#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/open_run.h"
#include "models/training/checkpoint.h"
#include "models/training/run_directory.h"
#include "models/training/trainer.h"

namespace trainer {

/// A run to go on with, as world rank 0 found it: only there is it locked and its files are read, so that no
/// other host needs to see them.
struct Resumed {
  RunDirectory directory;
  std::filesystem::path place;  ///< of the checkpoint; empty: the run has none yet
  Checkpoint checkpoint = {};
};

/// What a run begins with: a configuration, or another run that it goes on with.
struct Beginning {
  std::optional<Resumed> resumed;  ///< on world rank 0
  ConfigSource config;
  bool goes_on = false;
  bool has_checkpoint = false;  ///< to go on from; else a run that goes on starts at step 0
};

/// Collective. Error(usage) when there is nothing to go on with, Error(weights) when its checkpoint is
/// damaged.
Beginning find_beginning(const Job& job);
/// Error(usage) when overrides change what a run that goes on has to keep.
void check_changes(const OpenRun& run, const Beginning& beginning);
/// Goes on from the checkpoint, if there is one. Collective.
void restore(const Job& job, const Beginning& beginning, Trainer& training);

}  // namespace trainer
