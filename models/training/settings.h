#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/config/config.h"
#include "engine/config/setting.h"

namespace trainer {

/// How often something happens during training.
struct Cadence {
  enum class Kind { epochs, end, never, steps, minutes };
  Kind kind = Kind::epochs;
  std::int64_t count = 1;  ///< of epochs or steps
  double minutes = 0;

  /// True when it is due after `done` of `total` steps. Minutes are for the clock to tell, but for the end.
  bool due(std::int64_t done, std::int64_t steps_per_epoch, std::int64_t total) const;
};

/// The `train:` section but for the members that have makers of their own (optimizer, schedule, metrics).
struct TrainSettings {
  std::int64_t batch = 0;                     ///< of the whole run
  std::int64_t accumulate = 1;                ///< parts of a batch that are computed one after the other
  std::optional<std::int64_t> epochs, steps;  ///< one of them
  std::uint64_t seed = 1;
  std::int64_t log_every = 10, stall_timeout = 300;
  Cadence evaluate, checkpoint, guards;
  std::int64_t crosscheck = 0;  ///< steps between looks at what others compute; 0: none
  std::int64_t keep = 2;        ///< checkpoints, besides the best
  std::optional<Duration> warmup;
  /// Bits do not depend on ranks and threads; with `exact_modelpar` neither on how layers are cut over ranks.
  bool exact = false, exact_modelpar = false;
  std::optional<double> clip_norm, clip_value;
  float average = 0;  ///< what the mean of the weights keeps at a step; 0: there is none
  int blocks = 1;     ///< that the batch is cut into in exact mode

  /// Samples that are computed at a time, by all ranks together.
  std::int64_t part() const { return batch / accumulate; }
  std::int64_t total_steps(std::int64_t steps_per_epoch) const {
    return steps ? *steps : *epochs * steps_per_epoch;
  }
};

TrainSettings train_settings(const Config& train);
/// Error(ranks) when there are more data ranks than samples in a batch or, in exact mode, than blocks; or
/// model ranks that exact mode was told it need not expect.
void check_ranks(const Config& train, const TrainSettings& settings, int data_ranks, int model_ranks);

/// The sections of a run's YAML: data, model, train. What `check`, `schema` and the key reference read.
std::vector<Setting> run_settings();

}  // namespace trainer
