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

/// Prepares the rows of coming batches on threads of its own, in the order in which they will be wanted. What
/// is not ready when it is wanted, the one who wants it prepares himself: so cores never wait, and nothing
/// takes longer than without. Results do not depend on who prepares.
class ReadAhead {
 public:
  struct Options {
    BatchOrder::Options order;
    /// The rows of this process in a global batch of so many.
    std::function<Range(std::int64_t batch_rows)> own_rows;
    std::int64_t end_step = 0;  ///< the steps before this one will be wanted
    std::int64_t row_size = 0;  ///< numbers of one sample
    std::int64_t room = 0;      ///< rows that are kept ready, at least 1
    int threads = 1;
  };
  /// Fills a row with a sample as it is due in an epoch. `who` tells apart those that do so at the same time:
  /// the threads, from 0, and the callers of fetch().
  using Prepare = std::function<void(std::int64_t sample, std::int64_t epoch, std::span<float> row, int who)>;

  ReadAhead(Options options, Prepare prepare);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// From now on rows of this step are fetched; nobody may be fetching.
  void begin(std::int64_t step);
  /// Fills x with rows [first, first + x.rows()) of the step's global batch, which are `samples`. `who` is
  /// handed to prepare(). Several may call at once for different rows. Throws what preparing a row threw.
  void fetch(std::int64_t first, std::span<const std::int64_t> samples, Tensor x, int who);

 private:
  enum class State { empty, in_work, ready };
  /// Where a row is prepared. Rows are numbered as they come, over all steps.
  struct Slot {
    State state = State::empty;
    std::int64_t number = -1;
    std::exception_ptr problem;
  };
  /// The next row that nobody has begun.
  struct Cursor {
    std::int64_t step = -1, row = 0, number = 0;
    std::vector<std::int64_t> samples;  ///< own ones of its step
  };

  void serve(int thread);
  void stop();
  /// Moves on to a row that a thread may begin; false while there is none.
  bool find_row();
  void enter_step(std::int64_t step);
  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number % options_.room)]; }
  std::span<float> memory_of(std::int64_t number);
  std::int64_t epoch_of(std::int64_t step) const { return step / order_.steps_per_epoch(); }
  void take(Slot& slot, std::span<float> row, std::unique_lock<std::mutex>& lock);

  Options options_;
  Prepare prepare_;
  std::mutex mutex_;
  std::condition_variable rows_wanted_, row_ready_;
  BatchOrder order_;
  std::vector<Slot> slots_;
  std::vector<float> memory_;
  Cursor next_;
  std::int64_t step_ = -1;           ///< that is fetched now
  std::int64_t first_number_ = 0;    ///< of its first own row
  Range own_;                        ///< its own rows
  std::vector<char> done_directly_;  ///< of these rows
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace trainer
