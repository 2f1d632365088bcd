#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/checkpoint_writer.h"
#include "models/schedules/schedule.h"
#include "models/training/observer.h"
#include "models/training/progress.h"
#include "models/training/session.h"
#include "models/training/training_step.h"

namespace trainer {

/// Trains a session's model: the loop over steps, and what comes between them (evaluation, checkpoints, the
/// wish to stop). Every rank has one and all make the same calls.
class Trainer {
 public:
  struct Options {
    std::string config;           ///< the resolved configuration, for checkpoints
    std::string initial_weights;  ///< a safetensors file; empty: what the model says
    bool resumes = false;  ///< restore() will follow: nothing is initialised, no file of weights looked for
    ParameterWindow::Options reducer;
    /// True on any rank: the run stops after the step under way, or during an evaluation. Asked at each step.
    std::function<bool()> asked_to_stop;
    /// The run stops by itself early enough to have saved by then; of world rank 0.
    std::optional<std::chrono::steady_clock::time_point> deadline;
  };
  /// Collective. The session's network reads this trainer's parameters from now on. Error(weights) when the
  /// initial ones do not fit.
  Trainer(const Config& root, Session& session, const Options& options);

  /// Error(weights) when the numbers do not fit the model, Error(data) when the run had other data. `place`
  /// names the checkpoint. Not collective.
  void check_fit(const Checkpoint& checkpoint, const std::string& place) const;
  /// Goes on from a checkpoint that fits, and that matters on world rank 0 only. Collective.
  void restore(const Checkpoint& checkpoint);
  /// True when no step is left to do.
  bool is_finished() const {
    return start_.step >= facts_.total_steps && start_.step > 0 && start_.evaluated;
  }

  const RunFacts& facts() const { return facts_; }
  /// "sgd lr 0.05 momentum 0.9"
  std::string optimizer_text() const { return step_.optimizer().text(); }
  /// How gradients travel, for the header.
  std::string transport() const { return step_.window().transport(); }
  bool lacks_shared_memory() const { return step_.window().lacks_shared_memory(); }

  /// Trains to the end, or until it is to stop. `observers` are told on world rank 0 only. Error(diverged) on
  /// all ranks when a step is not finite. Checkpoints go into `directory`, which matters on world rank 0
  /// only.
  RunResult run(const std::vector<Observer*>& observers, const std::filesystem::path& directory);

 private:
  template <class Tell>
  void tell(const std::vector<Observer*>& observers, Tell what) const;
  /// The network's first values: a file's, or what the configuration says. Collective.
  void set_initial_values(const Config& model, const Options& options);
  /// One step of all ranks; puts its scores and times into progress.report.
  void train_step(Progress& progress);
  /// Collective: a step of all ranks was not finite.
  /// `array`: this rank's that is not finite, where it is not loss or gradient.
  [[noreturn]] void throw_divergence(const Progress& progress, const std::string& array = "");
  /// Error(diverged) where parameters or states are not finite, so that they never take a checkpoint's place.
  /// Collective.
  void check_finite(const Progress& progress);
  /// What may be due after a step: evaluation, the end of an epoch, a checkpoint.
  void end_step(Progress& progress, const std::vector<Observer*>& observers);
  /// False when it was not, or when the run stops in its midst.
  bool evaluate_when_due(Progress& progress);
  void save_when_due(Progress& progress, const std::vector<Observer*>& observers);
  /// `pending`: what follows the step is still to be done.
  void save(Progress& progress, const std::vector<Observer*>& observers, bool pending);
  /// This rank's wish to stop.
  bool wants_to_stop(const Progress& progress, Progress::Clock::time_point now) const;
  bool wants_to_save(const Progress& progress, Progress::Clock::time_point now) const;
  /// Leaves what follows the step to be done when the run goes on.
  void stop(Progress& progress, const std::vector<Observer*>& observers);

  Session& session_;
  BatchOrder order_;
  RunFacts facts_;
  CheckpointState start_;
  std::string config_;
  std::function<bool()> asked_to_stop_;
  std::optional<Progress::Clock::time_point> deadline_;
  TrainingStep step_;
  std::unique_ptr<Schedule> schedule_;
  std::optional<CheckpointWriter> writer_;  ///< of a run
};

}  // namespace trainer
