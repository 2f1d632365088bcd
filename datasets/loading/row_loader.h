#pragma once

#include <memory>
#include <vector>

#include "datasets/loading/data.h"
#include "datasets/loading/read_ahead.h"

namespace trainer {

/// Brings training samples to the workers of a process: read, augmented, and where that pays read ahead.
class RowLoader {
 public:
  struct Options {
    BatchOrder::Options order;
    /// The rows of this process in a global batch of so many.
    std::function<Range(std::int64_t batch_rows)> own_rows;
    std::int64_t end_step = 0;  ///< training ends before it
    int workers = 1;
    int idle_cores = 0;  ///< cores of this process without a worker
  };
  /// `data` outlives it, and has its samples in memory before begin().
  RowLoader(const Data& data, Options options);

  /// From now on rows of this step are fetched; no worker may be fetching.
  void begin(std::int64_t step);
  /// Fills x with rows of that step's global batch, from row `first` on, which are `samples`. Workers call at
  /// once, for different rows. Error(data) when a file is bad.
  void fetch(int worker, std::int64_t first, std::span<const std::int64_t> samples, Tensor x);
  /// The same for rows that another process has. Nothing of them has been read ahead.
  void fetch_others(int worker, std::span<const std::int64_t> samples, Tensor x);
  /// Of the step that is fetched now.
  std::int64_t epoch() const { return epoch_; }

 private:
  void read(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, std::span<float> scratch);
  void prepare(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, int who);

  const Data& data_;
  Options options_;
  int threads_;
  std::int64_t epoch_ = 0, steps_per_epoch_;
  std::vector<std::vector<float>> scratch_;  ///< of each thread that reads ahead, then of each worker
  std::unique_ptr<ReadAhead> ahead_;         ///< null where nothing is read ahead
};

/// How many threads read ahead. Samples that lie in memory are fetched where they are needed: to move them
/// takes some percent of the shortest step. Where files are decoded one thread reads even when no core is
/// idle, since disks keep it waiting; costly transforms alone are worth idle cores only.
int read_ahead_threads(const Data& data, int workers, int idle_cores);

}  // namespace trainer
