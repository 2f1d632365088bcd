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

  /// True if it is due after `done` of `total` steps. Minutes are never due here, except at the end.
  bool due(std::int64_t done, std::int64_t steps_per_epoch, std::int64_t total) const;
};

/// The `train:` section without optimizer, schedule and metrics, which their registries make.
struct TrainSettings {
  std::int64_t batch = 0;                     ///< samples of an update, over all ranks
  std::int64_t accumulate = 1;                ///< micro-batches of a batch
  std::optional<std::int64_t> epochs, steps;  ///< exactly one of them
  std::uint64_t seed = 1;
  std::int64_t log_every = 10;       ///< steps
  std::int64_t stall_timeout = 300;  ///< seconds
  Cadence evaluate, checkpoint, guards;
  std::int64_t snapshot = 0;    ///< steps between snapshots in memory; 0: none
  std::int64_t crosscheck = 0;  ///< steps between crosschecks; 0: never
  std::int64_t keep = 2;        ///< newest checkpoints, besides the best one
  std::optional<Duration> warmup;
  bool exact = false;           ///< bits depend on neither ranks nor threads
  bool exact_modelpar = false;  ///< nor on the partition of layers over model ranks
  std::optional<double> clip_norm, clip_value;
  float ema = 0;            ///< decay of the exponential moving average of the weights; 0: none
  int virtual_workers = 1;  ///< in exact mode

  /// Samples that all ranks together compute at a time.
  std::int64_t micro_batch() const { return batch / accumulate; }
  std::int64_t total_steps(std::int64_t steps_per_epoch) const {
    return steps ? *steps : *epochs * steps_per_epoch;
  }
};

TrainSettings train_settings(const Config& train);
/// Error(ranks) if a micro-batch has fewer samples, or exact mode fewer virtual workers, than there are data
/// ranks; or if exact mode excludes modelpar and there are several model ranks.
void check_ranks(const Config& train, const TrainSettings& settings, int data_ranks, int model_ranks);

/// The sections of a run's YAML: data, model, train. `check`, `schema` and the key reference read them.
std::vector<Setting> run_settings();

}  // namespace trainer
