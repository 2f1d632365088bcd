#pragma once

#include <optional>
#include <vector>

#include "cli/commands/open_run.h"
#include "cli/launching/cpu_affinity.h"
#include "engine/parallel/planned_ranks.h"
#include "engine/parallel/sharding.h"
#include "models/planning/memory_plan.h"
#include "models/planning/placed_step.h"

namespace trainer {

/// A run on ranks that are not started: what rank 0 would build.
class PlannedRun {
 public:
  struct Options {
    Mesh::Options mesh;
    int threads = 1, workers = 1;
    Sharding sharding = Sharding::state;  ///< others: with one rank on each node
  };
  /// Errors as a run's: the config, the data, the number of ranks.
  PlannedRun(ConfigSource config, const Options& options);
  PlannedRun(const PlannedRun&) = delete;
  PlannedRun& operator=(const PlannedRun&) = delete;

  const Options& options() const { return options_; }
  /// With the number of micro-batches that `accumulate: {fit: SIZE}` gives.
  const ConfigSource& config() const { return config_; }
  const Session& session() const { return *run_.session; }
  const PlannedRanks& ranks() const { return ranks_; }
  const PlacedStep& step() const { return *step_; }
  const std::vector<LayerCost>& layers() const { return layers_; }
  /// `program`: bytes of a process besides what the run allocates.
  MemoryPlan memory(std::int64_t program) const;
  /// True if a layer is sharded over model ranks.
  bool is_sharded() const;

  /// Where computing is measured: all ranks of a host together, or one rank if this machine has fewer cores
  /// than they have threads and the run has other hosts.
  struct Measured {
    int ranks = 1;                 ///< of a host
    int threads = 1, workers = 1;  ///< of all of them
    std::int64_t rows = 1;         ///< a step of all of them, all micro-batches
  };
  Measured measured_on(int cores) const;
  /// The times of this run's rank from those of one process that ran as measured_on() states.
  ComputingTimes computing(const ComputingTimes& measured, int cores) const;
  /// The same at so many floating-point operations a second of a thread. Error(usage) if no layer counts
  /// operations.
  ComputingTimes computing_at(double rate) const;

 private:
  Options options_;
  PlannedRanks ranks_;
  ThreadPool pool_;
  ConfigSource config_;
  OpenRun run_;
  std::vector<PlacedParameters> parameters_;
  std::vector<LayerCost> layers_;
  std::optional<PlacedStep> step_;
};

/// Of one rank, without the program.
MemoryNeeds memory_needs(const OpenRun& run);

/// Threads of a rank where `ranks` share a host like this machine: as a run chooses them.
int planned_threads(const CpuAffinity& alone, int ranks);

}  // namespace trainer
