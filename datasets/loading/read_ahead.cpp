#include "datasets/loading/read_ahead.h"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>

#include "engine/core/error.h"

namespace trainer {
namespace {

/// Lowers the priority of the calling thread below that of the threads that compute.
void lower_priority() {
  constexpr int kLower = 10;
  // On Linux this changes the thread alone. A failure costs speed only.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kLower);
}

}  // namespace

ReadAhead::ReadAhead(Options options, Prepare prepare)
    : options_(std::move(options)), prepare_(std::move(prepare)), order_(options_.order) {
  if (options_.room < 1 || options_.threads < 1)
    throw std::logic_error("prefetching requires room and threads");
  slots_.resize(options_.room);
  memory_.resize(options_.room * options_.row_size);
  const std::size_t most = options_.order.batch;
  next_.samples.reserve(most);
  done_directly_.reserve(most);
  try {
    for (int thread = 0; thread < options_.threads; ++thread)
      threads_.emplace_back([this, thread] { serve(thread); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ExitCode::failure, std::string("cannot start threads that prefetch samples: ") + error.what(),
                "a higher limit of processes (ulimit -u)");
  }
}

ReadAhead::~ReadAhead() { stop(); }

void ReadAhead::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_ready_.notify_all();
}

std::span<float> ReadAhead::memory_of(std::int64_t number) {
  return std::span(memory_).subspan(number % options_.room * options_.row_size, options_.row_size);
}

void ReadAhead::enter_step(std::int64_t step) {
  next_.step = step;
  next_.row = 0;
  next_.samples.clear();
  if (step >= options_.end_step) return;
  const auto batch = order_.batch(step);
  const Range own = options_.own_rows(std::ssize(batch));
  next_.samples.assign(batch.begin() + own.first, batch.begin() + own.last);
}

void ReadAhead::begin(std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    first_number_ = step == step_ + 1 ? first_number_ + own_.count() : next_.number;
    // The consumers were faster than the threads, or the run resumes at another step.
    if (step != step_ + 1 || next_.step < step) {
      next_.number = first_number_;
      enter_step(step);
    }
    step_ = step;
    const std::int64_t first = step % order_.steps_per_epoch() * options_.order.batch;
    own_ = options_.own_rows(std::min(options_.order.batch, options_.order.samples - first));
    done_directly_.assign(own_.count(), 0);
    for (Slot& slot : slots_)
      if (slot.state == State::ready && slot.number < first_number_) slot = {};
  }
  work_ready_.notify_all();
}

bool ReadAhead::find_row() {
  while (next_.step >= 0 && next_.step < options_.end_step) {
    if (next_.row == std::ssize(next_.samples)) {
      enter_step(next_.step + 1);
    } else if (next_.step == step_ && done_directly_[next_.row] != 0) {
      ++next_.row;
      ++next_.number;
    } else {
      return slot_of(next_.number).state == State::empty;
    }
  }
  return false;
}

void ReadAhead::serve(int thread) {
  lower_priority();
  std::unique_lock lock(mutex_);
  while (true) {
    work_ready_.wait(lock, [&] { return stop_ || find_row(); });
    if (stop_) return;
    const std::int64_t number = next_.number++, epoch = epoch_of(next_.step);
    const std::int64_t sample = next_.samples[next_.row++];
    Slot& slot = slot_of(number);
    slot = {State::in_work, number, nullptr};
    lock.unlock();
    std::exception_ptr problem;
    try {
      prepare_(sample, epoch, memory_of(number), thread);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    slot.problem = problem;
    slot.state = number < first_number_ ? State::empty : State::ready;
    row_ready_.notify_all();
  }
}

void ReadAhead::take(Slot& slot, std::span<float> row, std::unique_lock<std::mutex>& lock) {
  const std::exception_ptr problem = slot.problem;
  if (!problem) {
    lock.unlock();  // no other thread touches a slot that is ready
    std::ranges::copy(memory_of(slot.number), row.begin());
    lock.lock();
  }
  slot = {};
  work_ready_.notify_one();
  if (problem) std::rethrow_exception(problem);
}

void ReadAhead::fetch(std::int64_t first, std::span<const std::int64_t> samples, Tensor x, int caller) {
  const auto row_of = [&](std::size_t i) {
    return x.span().subspan(i * options_.row_size, options_.row_size);
  };
  const std::int64_t offset = first - own_.first;
  const auto number_of = [&](std::size_t i) { return first_number_ + offset + static_cast<std::int64_t>(i); };
  std::unique_lock lock(mutex_);
  // First the rows that are ready or not begun, then those that a thread is preparing.
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Slot& slot = slot_of(number_of(i));
    if (slot.state != State::empty && slot.number == number_of(i)) {
      if (slot.state == State::ready) take(slot, row_of(i), lock);
      continue;
    }
    char& direct = done_directly_[offset + i];
    if (direct != 0) continue;
    direct = 1;
    lock.unlock();
    prepare_(samples[i], epoch_of(step_), row_of(i), caller);
    lock.lock();
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Slot& slot = slot_of(number_of(i));
    const auto is_mine = [&] { return slot.state != State::empty && slot.number == number_of(i); };
    if (!is_mine()) continue;
    row_ready_.wait(lock, [&] { return slot.state == State::ready; });
    take(slot, row_of(i), lock);
  }
}

}  // namespace trainer
