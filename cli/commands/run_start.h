#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/run_directory.h"
#include "models/runs/training_run.h"

namespace trainer {

/// A run to go on with, as world rank 0 found it: only there is it locked and its files are read, so that no
/// other host needs to see them.
struct Resumed {
  RunDirectory directory;
  std::filesystem::path place;  ///< of the checkpoint; empty: the run has none yet
  Checkpoint checkpoint = {};
};

/// What a run begins with: a configuration, or another run that it goes on with.
struct RunStart {
  std::optional<Resumed> resumed;  ///< on world rank 0
  ConfigSource config;
  bool resumes = false;
  bool has_checkpoint = false;  ///< to go on from; else a run that goes on starts at step 0
};

/// Collective. Error(usage) when there is nothing to go on with, Error(weights) when its checkpoint is
/// damaged.
RunStart find_run_start(const Job& job);
/// Error(usage) when overrides change what a run that goes on has to keep.
void check_changes(const OpenRun& run, const RunStart& beginning);
/// Goes on from the checkpoint, if there is one. Collective.
void restore(const Job& job, const RunStart& beginning, TrainingRun& training);

}  // namespace trainer
