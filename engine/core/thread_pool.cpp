#include "engine/core/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <stdexcept>

namespace trainer {
namespace {

/// Thrown through workers that wait for one that failed; its own exception is what run() reports.
struct Released {};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

template <class Condition>
void ThreadPool::wait_until(Condition condition) const {
  // Spinning answers within 0.1 us; a thread that has spun for some 50 us waits for something longer, or for
  // a core.
  for (int spins = crowded_ ? 4000 : 0; !condition(); ++spins) {
    if (spins < 4000)
      pause();
    else
      sched_yield();
  }
}

ThreadPool::ThreadPool(int threads, bool crowded) : crowded_(crowded) {
  if (threads < 1) throw std::logic_error("a thread pool needs a thread");
  errors_.resize(static_cast<std::size_t>(threads));
  threads_.reserve(static_cast<std::size_t>(threads) - 1);
  for (int worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  run_number_.value.fetch_add(1);
  run_number_.value.notify_all();
}

void ThreadPool::serve(int worker) {
  for (std::int64_t seen = 0;;) {
    // Between runs a thread spins briefly, as the next step is near, and then sleeps.
    for (int spins = crowded_ ? 20000 : 0; spins < 20000 && run_number_.value.load() == seen; ++spins)
      pause();
    run_number_.value.wait(seen);
    seen = run_number_.value.load();
    if (stop_) return;
    work_once(worker);
    finished_.value.fetch_add(1);
  }
}

void ThreadPool::work_once(int worker) {
  try {
    (*work_)(worker);
  } catch (const Released&) {
  } catch (...) {
    errors_[static_cast<std::size_t>(worker)] = std::current_exception();
    failed_ = true;
  }
}

void ThreadPool::run(const std::function<void(int)>& work) {
  if (threads_.empty()) return work(0);
  work_ = &work;
  failed_ = false;
  arrived_.value = 0;
  std::ranges::fill(errors_, nullptr);
  finished_.value = 0;
  run_number_.value.fetch_add(1);
  run_number_.value.notify_all();
  work_once(0);
  wait_until([&] { return finished_.value.load() == static_cast<std::int64_t>(threads_.size()); });
  const auto first =
      std::ranges::find_if(errors_, [](const std::exception_ptr& error) { return error != nullptr; });
  if (first != errors_.end()) std::rethrow_exception(*first);
}

void ThreadPool::barrier() {
  if (threads_.empty()) return;
  const std::int64_t generation = generation_.value.load();
  if (arrived_.value.fetch_add(1) + 1 == size()) {
    arrived_.value = 0;
    generation_.value.fetch_add(1);
    return;
  }
  wait_until([&] { return generation_.value.load() != generation || failed_; });
  if (generation_.value.load() == generation) throw Released{};
}

}  // namespace trainer
