#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace trainer
