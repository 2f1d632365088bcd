#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/loader.h"
#include "engine/parallel/gradient_reducer.h"
#include "models/optimizers/optimizer.h"
#include "models/schedules/schedule.h"
#include "models/training/observer.h"
#include "models/training/session.h"

namespace trainer {

/// Trains a session's model: the loop, and what belongs to it alone (optimizer, schedule, sums between
/// ranks). Every rank has one and all make the same calls.
class Trainer {
 public:
  struct Options {
    std::string initial_weights;  ///< a safetensors file; empty: the initialisers of the model
    GradientReducer::Options reducer;
  };
  /// Collective. Error(weights) when the initial weights do not fit.
  Trainer(const Config& train, Session& session, const Options& options);
  ~Trainer();

  RunFacts facts() const;
  /// "sgd lr 0.05 momentum 0.9"
  std::string optimizer_text() const { return optimizer_->text(); }
  /// How gradients travel, for the header.
  std::string transport() const { return reducer_.transport(); }

  /// Trains to the end. `observers` are told on world rank 0 only. Error(diverged) on all ranks when a step
  /// is not finite. Checkpoints go into `directory`, which matters on world rank 0 only; empty: none are
  /// written.
  RunResult run(const std::vector<Observer*>& observers, const std::filesystem::path& directory);

 private:
  struct Sums;
  Session& session_;
  Options options_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
  GradientReducer reducer_;
};

}  // namespace trainer
