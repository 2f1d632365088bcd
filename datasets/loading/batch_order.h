#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// The order of training samples: which samples make up each global batch. A pure function of (seed, epoch).
class BatchOrder {
 public:
  struct Options {
    std::int64_t samples = 0;
    std::int64_t batch = 0;  ///< samples of a global batch
    bool shuffle = true;
    bool drop_last = false;  ///< drop the short batch at the end of an epoch
    /// Row r of a batch holds the sample that follows row r of the batch before. No shuffling, no short
    /// batch.
    bool streams = false;
    /// Draws each class of these samples equally often: an epoch repeats samples of rare classes and leaves
    /// out some of frequent ones. Labels are read at the first call of batch() or epoch(). Null: no.
    const Dataset* balanced = nullptr;
    std::uint64_t seed = 1;
  };
  /// Error(usage) if an epoch has no batch.
  explicit BatchOrder(const Options& options);

  std::int64_t steps_per_epoch() const;
  std::int64_t batch_size() const { return options_.batch; }
  /// True if an epoch has each sample once, if no batch is dropped.
  bool has_each_sample_once() const { return options_.balanced == nullptr; }
  /// The samples of a step, counted from 0 over all epochs. The last batch of an epoch may be short. Valid
  /// until the next call of batch() or epoch().
  std::span<const std::int64_t> batch(std::int64_t step);
  /// All samples in the order of an epoch; samples that are in no batch come last. Valid until the next call
  /// of batch() or epoch().
  std::span<const std::int64_t> epoch(std::int64_t epoch);

 private:
  void fill_with_streams();
  void group_by_class();
  void draw_classes(std::uint64_t epoch);

  Options options_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_;
  std::vector<std::vector<std::int64_t>> classes_;  ///< the samples of each class that has any
};

}  // namespace trainer
