#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/open_run.h"
#include "models/checkpoints/checkpoint.h"
#include "models/proof/chain_hook.h"
#include "models/runs/training_run.h"

namespace trainer {

/// An exact run that is computed again, from its beginning or from a checkpoint. Nothing is written into its
/// directory.
class ReplayedRun {
 public:
  struct Options {
    std::filesystem::path run;
    std::vector<std::string> overrides = {};
    std::string initial_weights = {};
    std::int64_t first = 1;  ///< the first step that is needed; of world rank 0
    bool uses_checkpoints = true;
  };
  /// Error(usage) if the run is not exact, or if its evaluations start programs. Collective.
  ReplayedRun(const Job& job, MeshAndThreads& work, const Options& options);

  const NetworkPlan& plan() const { return run_->session->network().plan(); }
  const TrainingRun& training() const { return *training_; }
  /// Steps done before the first one that is replayed.
  std::int64_t first_step() const { return training_->facts().first_step; }
  /// The checkpoint from which it starts, or the beginning.
  std::string start_text() const;
  /// Replays until `is_done`, which world rank 0 asks, or to the end of the run. `listener` first gets the
  /// weights with which it starts. Collective.
  void replay(ChainListener& listener, std::function<bool()> is_done);

 private:
  void find(const Options& options);

  const Job& job_;
  ConfigSource config_;
  std::optional<Checkpoint> checkpoint_;  ///< of world rank 0
  std::filesystem::path place_;           ///< of the checkpoint
  std::optional<OpenRun> run_;
  std::function<bool()> is_done_ = [] { return false; };
  ChainListener* listener_ = nullptr;

  /// Passes on to the listener of replay().
  class Relay final : public ChainListener {
   public:
    explicit Relay(ReplayedRun& run) : run_(run) {}
    void on_record(const ChainRecord& record, const ChainItems& items) override {
      run_.listener_->on_record(record, items);
    }

   private:
    ReplayedRun& run_;
  } relay_{*this};
  std::optional<TrainingRun> training_;
};

/// The configuration of a run directory, and its text.
ConfigSource config_of_run(const std::filesystem::path& run, const std::vector<std::string>& overrides);

}  // namespace trainer
