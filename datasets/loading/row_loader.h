#pragma once

#include <memory>
#include <vector>

#include "datasets/loading/data.h"
#include "datasets/loading/read_ahead.h"

namespace trainer {

/// Loads training samples for the workers of a rank: reads, augments, mixes, and prefetches if that pays.
class RowLoader {
 public:
  struct Options {
    BatchOrder::Options order;
    /// The rows of this rank in a global batch of `batch_rows`.
    std::function<Range(std::int64_t batch_rows)> own_rows;
    std::int64_t end_step = 0;  ///< the first step that is not trained
    int workers = 1;
    int idle_cores = 0;       ///< cores of this rank without a worker
    bool reads_ahead = true;  ///< where that pays; false: never, so that any rows can be fetched
  };
  /// `data` outlives this; load_samples() has been called before begin().
  RowLoader(const Data& data, Options options);

  /// Starts a step: fetch() then refers to it. No fetch() may be running.
  void begin(std::int64_t step);
  /// Fills x with rows [first, first + x.rows()) of the step's global batch, which hold `samples`. Workers
  /// call it at the same time for different rows. Error(data) if a file is bad.
  void fetch(int worker, std::int64_t first, std::span<const std::int64_t> samples, Tensor x);
  /// Epoch of the current step.
  std::int64_t epoch() const { return epoch_; }
  const BatchOrder::Options& order() const { return options_.order; }

 private:
  void read(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, std::span<float> scratch);
  void prepare(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, int caller);

  const Data& data_;
  Options options_;
  int threads_;
  std::int64_t epoch_ = 0, steps_per_epoch_;
  std::vector<std::vector<float>> scratch_;  ///< of each prefetching thread, then of each worker
  std::unique_ptr<ReadAhead> ahead_;         ///< null if nothing is prefetched
};

/// Number of prefetching threads. Samples in memory are not prefetched: copying them takes a few percent of
/// the shortest step. Streamed samples get a thread even without an idle core, since it mostly waits for the
/// disk; costly transforms get idle cores only.
int read_ahead_threads(const Data& data, int workers, int idle_cores);

}  // namespace trainer
