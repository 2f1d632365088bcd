#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/transforms/views.h"
#include "engine/config/config.h"
#include "engine/config/setting.h"
#include "engine/math/precision.h"
#include "engine/parallel/compression.h"

namespace trainer {

/// How often something happens during training.
struct Cadence {
  enum class Kind { epochs, end, never, steps, minutes };
  Kind kind = Kind::epochs;
  std::int64_t count = 1;  ///< of epochs or steps
  double minutes = 0;

  /// True if it is due after `done` of `total` steps, or was after one of the last `steps` of them. Minutes
  /// are never due here, except at the end.
  bool due(std::int64_t done, std::int64_t steps_per_epoch, std::int64_t total, std::int64_t steps = 1) const;
};

/// `train.local`: virtual workers train by themselves for a round of steps, then an outer optimizer updates
/// the global parameters (local SGD, arXiv:1805.09767; DiLoCo, arXiv:2311.08105).
struct LocalSettings {
  std::int64_t steps = 1;  ///< of a round, which also ends with the epoch
  int virtual_workers = 1;
  bool averages_states = false;  ///< of the optimizers of virtual workers, at the end of a round
};

/// `train.async`: ranks update the parameters by their gradients as soon as they have them.
struct AsyncSettings {
  std::int64_t staleness = 0;  ///< the most updates by others between the reading of parameters and an update
};

/// Learning rate of large batches: given for `batch` samples, and multiplied for the run's batch by their
/// ratio (Goyal et al. 2017, arXiv:1706.02677, section 2.1) or its root (Krizhevsky 2014, arXiv:1404.5997,
/// section 5).
struct RateScaling {
  enum class Rule { linear, sqrt };
  Rule rule = Rule::linear;
  std::int64_t batch = 256;

  double factor(double batch_of_update) const;
};

/// `train.early_stopping`.
struct EarlyStoppingSettings {
  enum class Mode { first, any, all };
  std::int64_t patience = 5;  ///< evaluations
  double min_delta = 0;
  std::string metric;  ///< empty: what selects the best checkpoint
  Mode mode = Mode::first;
};

/// `train.stop`.
struct StopSettings {
  std::optional<double> loss, seconds;
};

/// `train.skip_outliers`.
struct OutlierSettings {
  double z = 6;               ///< standard deviations
  std::int64_t window = 100;  ///< updates
};

/// `train.on_divergence`, but for `stop`.
struct RollbackSettings {
  std::int64_t times = 3;  ///< of a run
  double factor = 0.5;     ///< of the learning rate, each time
};

/// The `train:` section without optimizer, schedule and metrics, which their registries make.
struct TrainSettings {
  std::int64_t batch = 0;                     ///< samples of an update, over all ranks
  std::int64_t accumulate = 1;                ///< micro-batches of a batch
  std::optional<std::int64_t> memory_limit;   ///< bytes of a rank; `accumulate` is the least that keeps it
  std::optional<std::int64_t> epochs, steps;  ///< exactly one of them
  std::uint64_t seed = 1;
  std::int64_t log_every = 10;       ///< steps
  bool logs_gradients = false;       ///< in the steps that are logged
  std::int64_t stall_timeout = 300;  ///< seconds
  Cadence evaluate, checkpoint, guards;
  Views views = Views::one;     ///< of an evaluation
  std::int64_t snapshot = 0;    ///< steps between snapshots in memory; 0: none
  std::int64_t crosscheck = 0;  ///< steps between crosschecks; 0: never
  std::int64_t keep = 2;        ///< newest checkpoints, besides the best one
  std::optional<Duration> warmup;
  std::optional<RateScaling> lr_scaling;
  bool exact = false;                        ///< bits depend on neither ranks nor threads
  bool exact_modelpar = false;               ///< nor on the partition of layers over model ranks
  bool portable = false;                     ///< nor on the processor; only with `exact`
  Precision precision = Precision::float32;  ///< of the factors of products and convolutions
  bool stores_bfloat16 = false;              ///< activations, from forward to backward
  bool chain = false;                        ///< hashes of each step are kept
  std::optional<double> clip_norm, clip_value;
  float ema = 0;                  ///< decay of the exponential moving average of the weights; 0: none
  int virtual_workers = 1;        ///< in exact mode
  bool measures_balance = false;  ///< shares of data ranks follow their speeds
  std::optional<LocalSettings> local;
  std::optional<AsyncSettings> async;
  Compression compression;  ///< of what hosts exchange
  std::optional<EarlyStoppingSettings> early_stopping;
  StopSettings stop;
  std::optional<RollbackSettings> rollback;
  std::optional<OutlierSettings> outliers;  ///< updates that are skipped

  /// The number of virtual workers if it does not depend on the placement, else 0.
  int fixed_virtual_workers() const { return local ? local->virtual_workers : exact ? virtual_workers : 0; }
  /// The key by which ranks do not take each step together: "local", "async"; empty without.
  std::string_view steps_apart() const { return local ? "local" : async ? "async" : ""; }
  /// Samples that all ranks together compute at a time.
  std::int64_t micro_batch() const { return batch / accumulate; }
  /// The highest learning rate of the run, before warm-up and schedule; `rate`: the optimizer's.
  /// A virtual worker of local SGD updates by its share of the batch.
  double scaled_rate(double rate) const;
  std::int64_t total_steps(std::int64_t steps_per_epoch) const {
    return steps ? *steps : *epochs * steps_per_epoch;
  }
};

TrainSettings train_settings(const Config& train);
/// Error(ranks) if a micro-batch has fewer samples, or exact mode or local SGD fewer virtual workers, than
/// there are data ranks; or if one of these excludes modelpar and there are several model ranks.
void check_ranks(const Config& train, const TrainSettings& settings, int data_ranks, int model_ranks);

/// The sections of a run's YAML: data, model, train. `check`, `schema` and the key reference read them.
std::vector<Setting> run_settings();

}  // namespace trainer
