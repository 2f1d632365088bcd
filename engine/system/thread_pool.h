#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/system/shared_work.h"
#include "engine/system/wait_until.h"

namespace trainer {

/// The only threads that compute. The caller is worker 0; workers are threads of a rank that own rows of the
/// batch. While one waits for others inside run(), or has no work left, it takes parts of what they share(),
/// as helpers do all the time.
class ThreadPool {
 public:
  /// Starts threads - 1 threads. `oversubscribed`: more threads than cores share this machine, so waiting
  /// yields at once. `on_start`: called first by each thread that starts. `workers`: the first threads; the
  /// others are helpers; 0: all threads are workers.
  explicit ThreadPool(int threads, bool oversubscribed = false,
                      const std::function<void(int thread)>& on_start = {}, int workers = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Workers.
  int size() const { return static_cast<int>(errors_.size()); }
  /// Workers and helpers.
  int threads() const { return static_cast<int>(threads_.size()) + 1; }

  /// Runs work(worker) on every worker and returns when all are done. The exception of the lowest worker that
  /// threw is rethrown; the others' barriers are released, so that one worker's error cannot hang the rest.
  void run(const std::function<void(int worker)>& work);

  /// Every worker waits until all have come here; call only from inside run(), by all workers. Throws when
  /// another worker has failed in this run.
  void barrier();
  /// Waits for a condition that workers of any rank make true; call only from inside run(). Throws like
  /// barrier(); sleep() must return from time to time.
  template <class Condition, class Sleep>
  void wait(const Condition& condition, const Sleep& sleep) const {
    bool holds = false;
    wait_or_help([&] { return (holds = condition()) || failed_; }, sleep);
    if (!holds) release();
  }

 private:
  // 32 bits, because the system can put a thread to sleep on nothing else directly.
  struct alignas(64) Counter {
    std::atomic<std::uint32_t> value{0};
  };

  /// As wait_until(); with cores for all workers, computes parts of shared work meanwhile.
  template <class Condition, class Sleep>
  void wait_or_help(const Condition& condition, const Sleep& sleep) const {
    if (oversubscribed_) return wait_until(condition, true, sleep);
    for (bool helped = true; std::exchange(helped, false);) {
      const SharedWork::Waiting waiting(shared_);
      wait_until([&] { return condition() || (helped = shared_.help()); }, false, sleep);
    }
  }
  void serve(int thread);
  void work_once(int worker);
  void stop();
  [[noreturn]] static void release();

  bool oversubscribed_;
  const std::function<void(int)>* work_ = nullptr;
  Counter run_number_, finished_, arrived_, generation_;
  mutable SharedWork shared_;
  std::atomic<bool> stop_{false}, failed_{false};
  std::vector<std::exception_ptr> errors_;
  std::vector<std::jthread> threads_;
};

}  // namespace trainer
