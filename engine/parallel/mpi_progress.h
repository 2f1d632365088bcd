#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/parallel/chunk_codes.h"
#include "engine/system/wait_until.h"

namespace trainer {

/// Error(lost) with MPI's own words unless `code` is success.
void check_mpi(int code, const char* call);

/// Messages that are under way.
class MpiTask {
 public:
  virtual ~MpiTask() = default;
  /// Calls MPI to move the messages; true once all of them have arrived. Throws nothing.
  virtual bool advance() noexcept = 0;
};

/// Moves the messages of this process; one object for all its groups. MPI moves messages only inside its
/// calls, so a thread of this object makes such calls while the other threads compute. A thread that waits
/// makes them itself and sleeps in between. Only one thread is inside MPI at a time (MPI_THREAD_SERIALIZED).
class MpiProgress {
 public:
  MpiProgress();
  MpiProgress(const MpiProgress&) = delete;
  MpiProgress& operator=(const MpiProgress&) = delete;

  using Lock = std::unique_lock<std::mutex>;
  /// Every call of MPI is made while a thread holds this lock.
  Lock enter() { return Lock(mutex_); }

  /// From now on moves `task` in the background until it has arrived or remove() is called. Inside enter().
  void add(MpiTask& task);
  void remove(MpiTask& task);
  /// Used inside enter().
  ChunkCodes codes;

  /// Chunks of messages that are on their way to a rank of the world. Inside enter().
  int& sends_to(int world_rank);

  /// Returns once `is_done`, which calls MPI inside enter(), holds. `between_hosts`: moves all tasks and
  /// sleeps between looks, the longer the more of them there were lately; else yields: an answer from the
  /// same host is near.
  template <class Condition>
  void wait(bool between_hosts, const Condition& is_done);

 private:
  /// Lets one thread at a time poll: the background thread rests while another one waits.
  class Waiter;
  void move_in_background(const std::stop_token& stop);
  /// Moves each task, first those that were added first. Inside enter().
  void move_tasks();
  void nap();

  std::mutex mutex_;
  std::condition_variable_any work_;
  std::vector<MpiTask*> tasks_;
  std::vector<int> sends_;  ///< under way, by rank of the world
  int waiters_ = 0;
  static constexpr std::chrono::microseconds kShortestNap{50}, kLongestNap{400};
  std::chrono::nanoseconds nap_ = kShortestNap;  ///< the next one between looks at a link
  std::jthread thread_;                          // last: it uses the others
};

class MpiProgress::Waiter {
 public:
  explicit Waiter(MpiProgress& progress);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  MpiProgress& progress_;
};

template <class Condition>
void MpiProgress::wait(bool between_hosts, const Condition& is_done) {
  const auto look = [&] {
    const Lock lock = enter();
    if (between_hosts) move_tasks();
    return is_done();
  };
  if (!between_hosts) {
    constexpr bool kYieldAtOnce = true;
    return wait_until(look, kYieldAtOnce);
  }
  if (look()) return;
  const Waiter waiter(*this);
  do nap();
  while (!look());
  nap_ = std::max<std::chrono::nanoseconds>(nap_ / 2, kShortestNap);
}

}  // namespace trainer
