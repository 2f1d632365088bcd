#pragma once

#include <filesystem>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/run_directory.h"
#include "models/runs/training_run.h"

namespace trainer {

/// A run to resume, on world rank 0: only that rank locks it and reads its files, so no other host needs to
/// see them.
struct Resumed {
  RunDirectory directory;
  std::filesystem::path place;  ///< of the checkpoint; empty: none yet
  Checkpoint checkpoint = {};
  bool is_snapshot = false;  ///< the checkpoint is one in memory
};

/// The start of a run: from a configuration, or from a run that it resumes.
struct RunStart {
  std::optional<Resumed> resumed;  ///< on world rank 0
  ConfigSource config;
  bool resumes = false;
  bool has_checkpoint = false;  ///< else a resumed run starts at step 0
};

/// Collective. Error(usage) if there is nothing to resume, Error(weights) if its checkpoint is damaged.
RunStart find_run_start(const Job& job);
/// Error(usage) if overrides change keys that a resumed run must keep.
void check_changes(const OpenRun& run, const RunStart& start);
/// Restores the checkpoint, if there is one. Error(usage) if an `exact` run was computed with another engine;
/// a note if another run was. Collective.
void restore(const Job& job, const RunStart& start, TrainingRun& training, bool exact);
/// Error(data) if the run learned from samples with other means or deviations than those of `data`: other
/// samples in files of the same names and sizes; or if checkpoints cannot keep what they need of it. After
/// load_samples(). Collective.
void check_samples(const Job& job, const RunStart& start, const Data& data);

}  // namespace trainer
