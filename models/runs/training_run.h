#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/asynchronous/asynchronous_trainer.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/residual_states.h"
#include "models/guards/crosscheck.h"
#include "models/local/local_trainer.h"
#include "models/proof/chain_hook.h"
#include "models/training/review.h"
#include "models/training/training_parts.h"

namespace trainer {

/// What the time of training was used for on a rank, in seconds.
struct RankTimes {
  double computing = 0;
  double data = 0;           ///< loading samples
  double communication = 0;  ///< without waiting
  double waiting = 0;        ///< for slower ranks
};

/// A training run: the loop with its hooks, from initial values or from a checkpoint. All ranks make the same
/// calls.
class TrainingRun {
 public:
  struct Options {
    std::string config;           ///< the resolved configuration, for checkpoints
    std::string initial_weights;  ///< a safetensors file; empty: those of the model
    int rollbacks = 0;            ///< how often the run has returned to a checkpoint after a divergence
    bool resumes = false;         ///< restore() follows: nothing is initialised, no file of weights is read
    ParameterWindow::Options reducer;
    /// True on any rank: the run stops after the step under way, or during an evaluation. Asked at each step.
    std::function<bool()> asked_to_stop;
    /// The run stops early enough to have saved by then; of world rank 0.
    std::optional<std::chrono::steady_clock::time_point> deadline;
    /// The run stops after the evaluation with which this share of its steps is done; 1: it does not.
    double until = 1;
    /// For snapshots: the same path on every host, in an existing folder of its memory; empty: none is kept.
    std::filesystem::path snapshots = {};
    /// Null on all ranks or on none. Becomes the review of the best evaluation on data rank 0.
    Review* review = nullptr;
    /// Null on all ranks or on none. The run is replayed for it: nothing is saved, and no chain is written.
    ChainListener* replay = nullptr;
    std::function<void(const std::string&)> warn = [](const std::string&) {};  ///< of world rank 0
  };
  /// Collective. From here on the session's network reads this run's parameters. Error(weights) when the
  /// initial ones do not fit.
  TrainingRun(const Config& root, Session& session, const Options& options);

  /// Error(weights) when the tensors do not fit the model, Error(data) when the run had other data. `place`
  /// names the checkpoint. Not collective.
  void check_fit(const Checkpoint& checkpoint, const std::string& place) const;
  /// Resumes from a checkpoint that fits; it is read on world rank 0 only. Collective.
  void restore(const Checkpoint& checkpoint);
  /// True if no step is left to do.
  bool is_finished() const {
    return (start_.step >= parts_.facts.total_steps || !early_end().empty()) &&
           (start_.step > 0 || !start_.files.empty()) && start_.evaluated;
  }
  /// EarlyStopping::reason() of the checkpoint.
  const std::string& early_end() const { return parts_.early_stopping.reason(); }

  /// How often the run has returned to a checkpoint, those before its checkpoint included.
  int rollbacks() const { return rollbacks_; }
  /// Whether a run that diverges is to return to its last checkpoint (train.on_divergence).
  bool may_roll_back() const;

  /// True if some rank has no folder for the snapshots that train.snapshot asks for: none is kept.
  /// Collective.
  bool lacks_snapshots() const;

  const RunFacts& facts() const { return parts_.facts; }
  TrainingParts& parts() { return parts_; }
  /// "sgd lr 0.05 momentum 0.9", then ", lr scaled to 1.6 for this batch" where it is.
  const std::string& optimizer_text() const { return optimizer_text_; }
  /// "8 virtual workers, a round of 100 steps, outer nesterov lr 0.7 momentum 0.9"; empty without
  /// train.local.
  std::string local_text() const;
  /// "staleness at most 8"; empty without train.async.
  std::string async_text() const { return asynchronous_ ? asynchronous_->text() : ""; }
  /// The file that the initial weights come from, and the layers that keep their `init`; empty without one.
  const std::string& weights_text() const { return weights_text_; }
  /// How gradients travel, for the header.
  std::string transport() const { return parts_.windows.transport(); }
  bool lacks_shared_memory() const { return parts_.windows.lacks_shared_memory(); }

  /// Trains to the end, or until a stop. Notifies `observers` on world rank 0 only. Divergence on all
  /// ranks when a value is not finite. Checkpoints go into `directory`, which matters on world rank 0 only;
  /// files of train.metrics' programs into `evaluation` beside it.
  /// `last`: a hook after those of the run, on all ranks or on none.
  RunResult run(const std::vector<Observer*>& observers, const std::filesystem::path& directory,
                Hook* last = nullptr);
  /// After run(): of each rank, on world rank 0.
  const std::vector<RankTimes>& rank_times() const { return rank_times_; }

 private:
  void set_rollbacks(int count);
  /// States beside those of the optimizer shard; null: none.
  HostedStates* hosted_states();
  /// The network's first values: a file's, or those of the configuration. Collective.
  void set_initial_values(const Config& model);
  /// Those that follow from training images, which are in memory by now. Collective.
  void whiten_parameters();

  Session& session_;
  Options options_;
  TrainingParts parts_;
  std::string optimizer_text_, weights_text_;
  std::optional<LocalTrainer> local_;                ///< of train.local
  std::optional<AsynchronousTrainer> asynchronous_;  ///< of train.async
  std::optional<Crosscheck> crosscheck_;             ///< of train.crosscheck
  std::optional<ResidualStates> residuals_;          ///< of compression with error feedback
  std::vector<int> whitened_;                        ///< parameters whose values follow from training images
  CheckpointState start_;
  std::vector<RankTimes> rank_times_;
  int rollbacks_ = 0;
};

}  // namespace trainer
