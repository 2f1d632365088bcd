#include "engine/parallel/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "engine/core/error.h"
#include "engine/system/exit_reason.h"

namespace trainer {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr double kLongestPause = 1;

/// The time between two looks, in seconds.
double pause_of(double patience) { return std::clamp(patience / 20, 0.005, kLongestPause); }

std::string message_of(const std::string& me, const Heartbeat::Wait& wait, std::int64_t step) {
  std::string what = wait.rank >= 0 ? fmt::format("rank {} at ", wait.rank) : "";
  what += wait.what;
  if (wait.bucket >= 0) what += fmt::format(" of bucket {}", wait.bucket);
  return fmt::format("error: {} has waited {:.3g} s for {}, {}", me, wait.patience, what,
                     step > 0 ? fmt::format("in step {}", step) : "before the first step");
}

/// How long one wait has lasted without a sign of life.
class Standstill {
 public:
  /// Whether that is too long, `passed` seconds after the last look.
  bool is_over(const Heartbeat::Wait& seen, double passed) {
    waited_ = seen.what && seen.what == before_.what && seen.signs == before_.signs ? waited_ + passed : 0;
    before_ = seen;
    return waited_ >= seen.patience;
  }

 private:
  Heartbeat::Wait before_;
  double waited_ = 0;
};

}  // namespace

Watchdog::Watchdog(const Heartbeat& heartbeat, std::string me,
                   std::function<void(const std::string&)> on_stall)
    : heartbeat_(heartbeat),
      me_(std::move(me)),
      on_stall_(std::move(on_stall)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any alarm;
  std::unique_lock lock(mutex);
  Standstill ranks, disk;
  auto last_look = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const double pause = pause_of(heartbeat_.look().ranks.patience);
    alarm.wait_for(lock, stop, Seconds(pause), [] { return false; });
    const auto now = std::chrono::steady_clock::now();
    // A process that was stopped for a while, the watchdog with it, has not waited all that time.
    const double passed = std::min(Seconds(now - last_look).count(), 2 * pause);
    last_look = now;
    const Heartbeat::Snapshot seen = heartbeat_.look();
    if (ranks.is_over(seen.ranks, passed)) on_stall_(message_of(me_, seen.ranks, seen.step));
    if (disk.is_over(seen.disk, passed)) on_stall_(message_of(me_, seen.disk, seen.step));
  }
}

void end_stalled_process(const std::string& message) {
  if (!message.empty()) std::fputs((message + " (train.stall_timeout)\n").c_str(), stderr);
  write_loss_report();
  write_exit_reason();
  // The others began to wait at about the same time; their messages help, too.
  std::this_thread::sleep_for(Seconds(kLongestPause));
  ::_exit(static_cast<int>(ExitCode::lost));
}

}  // namespace trainer
