#include "engine/parallel/mpi_progress.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>

#include "engine/core/error.h"

namespace trainer {
namespace {

/// How often messages move while all threads compute. Sockets buffer what arrives or leaves in between.
constexpr std::chrono::microseconds kPeriod{400};

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw Error(ExitCode::lost, fmt::format("{} failed: {}", call, words),
              "a rank or the network was lost; --init RUN/checkpoints/last/model.safetensors starts from "
              "what is saved");
}

MpiProgress::MpiProgress() {
  // Linux adds 50 us to each sleep by default. Threads inherit the setting.
  constexpr unsigned long kTimerSlack = 1000;  // nanoseconds
  prctl(PR_SET_TIMERSLACK, kTimerSlack, 0, 0, 0);
}

void MpiProgress::add(MpiTask& task) {
  tasks_.push_back(&task);
  if (!thread_.joinable()) {
    // Signals are for the main thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread([this](const std::stop_token& stop) { move_in_background(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  if (tasks_.size() == 1) work_.notify_one();
}

void MpiProgress::remove(MpiTask& task) { std::erase(tasks_, &task); }

int& MpiProgress::sends_to(int world_rank) {
  const auto rank = static_cast<std::size_t>(world_rank);
  if (rank >= sends_.size()) sends_.resize(rank + 1);
  return sends_[rank];
}

void MpiProgress::move_tasks() {
  std::erase_if(tasks_, [](MpiTask* task) { return task->advance(); });
}

void MpiProgress::move_in_background(const std::stop_token& stop) {
  Lock lock = enter();
  while (work_.wait(lock, stop, [&] { return !tasks_.empty() && waiters_ == 0; })) {
    move_tasks();
    if (tasks_.empty()) continue;
    lock.unlock();
    std::this_thread::sleep_for(kPeriod);
    lock.lock();
  }
}

void MpiProgress::nap() {
  std::this_thread::sleep_for(nap_);
  nap_ = std::min<std::chrono::nanoseconds>(nap_ + nap_ / 8, kLongestNap);
}

MpiProgress::Waiter::Waiter(MpiProgress& progress) : progress_(progress) {
  const Lock lock = progress_.enter();
  ++progress_.waiters_;
}

MpiProgress::Waiter::~Waiter() {
  const Lock lock = progress_.enter();
  if (--progress_.waiters_ == 0 && !progress_.tasks_.empty()) progress_.work_.notify_one();
}

}  // namespace trainer
