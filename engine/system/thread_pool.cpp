#include "engine/system/thread_pool.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "engine/core/error.h"

namespace trainer {
namespace {

/// True if the counter, which may overflow, is at `count` or beyond.
bool has_come(const std::atomic<std::uint32_t>& counter, std::uint32_t count) {
  return static_cast<std::int32_t>(counter.load() - count) >= 0;
}

/// Thrown through workers that wait for one that failed; its own exception is what run() reports.
struct Released {};

}  // namespace

ThreadPool::ThreadPool(int threads, bool oversubscribed, const std::function<void(int)>& on_start,
                       int workers)
    : oversubscribed_(oversubscribed), shared_(threads) {
  if (threads < 1 || workers < 0 || workers > threads)
    throw std::logic_error("a thread pool needs a thread for each worker");
  errors_.resize(static_cast<std::size_t>(workers > 0 ? workers : threads));
  threads_.reserve(static_cast<std::size_t>(threads) - 1);
  try {
    for (int thread = 1; thread < threads; ++thread)
      threads_.emplace_back([this, thread, on_start] {
        if (on_start) on_start(thread);
        serve(thread);
      });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ExitCode::failure, "cannot start " + std::to_string(threads) + " threads: " + error.what(),
                "fewer --threads, or a higher limit of processes (ulimit -u) or of memory (ulimit -d)");
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stop_ = true;
  run_number_.value.fetch_add(1);
  run_number_.value.notify_all();
}

void ThreadPool::serve(int thread) {
  for (std::uint32_t seen = 0;;) {
    // Between runs a thread looks out for the next step for a moment, and then sleeps.
    int looks = oversubscribed_ ? 0 : 1000;
    wait_until([&] { return run_number_.value.load() != seen || looks-- == 0; }, false);
    run_number_.value.wait(seen);
    seen = run_number_.value.load();
    if (stop_) return;
    const std::uint32_t all = seen * static_cast<std::uint32_t>(size());
    if (thread < size()) {
      work_once(thread);
      if (finished_.value.fetch_add(1) + 1 == all) finished_.value.notify_one();
    }
    if (!oversubscribed_) wait_or_help([&] { return has_come(finished_.value, all); }, nap);
  }
}

void ThreadPool::work_once(int worker) {
  const SharedWork::Membership member(shared_, worker);
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
  const std::uint32_t all = (run_number_.value.load() + 1) * static_cast<std::uint32_t>(size());
  run_number_.value.fetch_add(1);
  run_number_.value.notify_all();
  work_once(0);
  finished_.value.fetch_add(1);
  wait_or_help([&] { return has_come(finished_.value, all); },
               [&] {
                 if (!oversubscribed_) return nap();
                 const std::uint32_t finished = finished_.value.load();
                 if (!has_come(finished_.value, all)) finished_.value.wait(finished);
               });
  const auto first =
      std::ranges::find_if(errors_, [](const std::exception_ptr& error) { return error != nullptr; });
  if (first != errors_.end()) std::rethrow_exception(*first);
}

void ThreadPool::barrier() {
  if (threads_.empty()) return;
  const std::uint32_t generation = generation_.value.load();
  if (arrived_.value.fetch_add(1) + 1 == errors_.size()) {
    arrived_.value = 0;
    generation_.value.fetch_add(1);
    return;
  }
  wait_or_help([&] { return generation_.value.load() != generation || failed_; }, nap);
  if (generation_.value.load() == generation) throw Released{};
}

void ThreadPool::release() { throw Released{}; }

}  // namespace trainer
