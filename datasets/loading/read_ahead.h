#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "datasets/loading/batch_order.h"
#include "engine/core/range.h"
#include "engine/core/tensor.h"

namespace trainer {

/// Prefetches the rows of coming batches on its own threads, in the order of their use. A row that is not
/// prefetched yet is prepared by its consumer, so prefetching never slows a run down. The result does not
/// depend on which thread prepares a row.
class ReadAhead {
 public:
  struct Options {
    BatchOrder::Options order;
    /// The rows of this rank in a global batch of `batch_rows`.
    std::function<Range(std::int64_t batch_rows)> own_rows;
    std::int64_t end_step = 0;  ///< the first step that is not used
    std::int64_t row_size = 0;  ///< elements of one sample
    std::int64_t room = 0;      ///< rows to keep prefetched, at least 1
    int threads = 1;
  };
  /// Fills a row with a sample as an epoch uses it. Calls at the same time differ in `caller`: 0 to threads -
  /// 1 are the prefetching threads, the others are passed to fetch().
  using Prepare =
      std::function<void(std::int64_t sample, std::int64_t epoch, std::span<float> row, int caller)>;

  ReadAhead(Options options, Prepare prepare);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Starts a step: fetch() then refers to it. No fetch() may be running.
  void begin(std::int64_t step);
  /// Fills x with rows [first, first + x.rows()) of the step's global batch, which hold `samples`. `caller`
  /// is passed to Prepare. Several threads may call it at the same time for different rows. Throws what
  /// Prepare threw for a row.
  void fetch(std::int64_t first, std::span<const std::int64_t> samples, Tensor x, int caller);

 private:
  enum class State { empty, in_work, ready };
  /// Memory for one prefetched row. Rows are numbered from 0 over all steps.
  struct Slot {
    State state = State::empty;
    std::int64_t number = -1;
    std::exception_ptr problem;
  };
  /// The next row to prefetch.
  struct Cursor {
    std::int64_t step = -1, row = 0, number = 0;
    std::vector<std::int64_t> samples;  ///< of this rank in the step
  };

  void serve(int thread);
  void stop();
  /// Moves next_ to the next row that is not prepared; false while no slot is free for it.
  bool find_row();
  void enter_step(std::int64_t step);
  Slot& slot_of(std::int64_t number) { return slots_[number % options_.room]; }
  std::span<float> memory_of(std::int64_t number);
  std::int64_t epoch_of(std::int64_t step) const { return step / order_.steps_per_epoch(); }
  void take(Slot& slot, std::span<float> row, std::unique_lock<std::mutex>& lock);

  Options options_;
  Prepare prepare_;
  std::mutex mutex_;
  std::condition_variable work_ready_, row_ready_;
  BatchOrder order_;
  std::vector<Slot> slots_;
  std::vector<float> memory_;
  Cursor next_;
  std::int64_t step_ = -1;           ///< of fetch()
  std::int64_t first_number_ = 0;    ///< number of the first row of this rank in the step
  Range own_;                        ///< rows of this rank in the step
  std::vector<char> done_directly_;  ///< true for own rows that a consumer has prepared
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace trainer
