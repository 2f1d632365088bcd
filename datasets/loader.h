#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/mixup.h"

namespace trainer {

/// The order of training samples, a pure function of (seed, epoch): which samples make up each global batch.
class BatchOrder {
 public:
  struct Options {
    std::int64_t samples = 0;
    std::int64_t batch = 0;
    bool shuffle = true;
    bool drop_last = false;
    /// Neither shuffled nor short batches: row r of each batch takes the sample behind that of row r before.
    bool streams = false;
    std::uint64_t seed = 1;
  };
  explicit BatchOrder(const Options& options);

  std::int64_t steps_per_epoch() const;
  std::int64_t batch_size() const { return options_.batch; }
  /// The samples of a step (counted from 0 over all epochs), in global order; shorter at the end of an epoch
  /// unless drop_last. The span is valid until the next call.
  std::span<const std::int64_t> batch(std::int64_t step);
  /// All samples in the order of an epoch, those left out at its end; valid until the next call, too.
  std::span<const std::int64_t> epoch(std::int64_t epoch);

 private:
  void fill_with_streams();

  Options options_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
};

/// What a model should give for a worker's rows, in memory that is allocated once.
class TargetRows {
 public:
  /// Takes the targets of these samples. The result is valid until the next call.
  const Targets& read(const Dataset& split, std::span<const std::int64_t> samples);
  /// Those of samples that an epoch mixes with others.
  const Targets& read(const Dataset& split, std::span<const std::int64_t> samples, const Mixup& mixup,
                      std::int64_t epoch);
  const Targets& targets() const { return targets_; }

 private:
  std::vector<std::int32_t> labels_, other_labels_;
  std::vector<float> values_, other_values_, shares_;
  std::vector<std::int64_t> partners_;
  Targets targets_;
};

}  // namespace trainer
