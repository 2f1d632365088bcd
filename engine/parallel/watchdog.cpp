#include "engine/parallel/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "engine/core/error.h"
#include "engine/core/last_words.h"

namespace trainer {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr double kLongestPause = 1;

/// Between two looks.
double pause_of(double patience) { return std::clamp(patience / 20, 0.005, kLongestPause); }

std::string message_of(const std::string& me, const Activity::Snapshot& seen) {
  std::string what = seen.rank >= 0 ? fmt::format("rank {} at ", seen.rank) : "";
  what += seen.what;
  if (seen.bucket >= 0) what += fmt::format(" of bucket {}", seen.bucket);
  return fmt::format("error: {} has waited {:.3g} s for {}, {}", me, seen.patience, what,
                     seen.step > 0 ? fmt::format("in step {}", seen.step) : "before the first step");
}

}  // namespace

Watchdog::Watchdog(const Activity& activity, std::string me, std::function<void(const std::string&)> on_stall)
    : activity_(activity),
      me_(std::move(me)),
      on_stall_(std::move(on_stall)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

Watchdog::~Watchdog() = default;

void Watchdog::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any alarm;
  std::unique_lock lock(mutex);
  Activity::Snapshot before;
  double waited = 0;
  auto last_look = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const double pause = pause_of(activity_.look().patience);
    alarm.wait_for(lock, stop, Seconds(pause), [] { return false; });
    const auto now = std::chrono::steady_clock::now();
    // A process that was stopped for a while, the watchdog with it, has not waited all that time.
    const double passed = std::min(Seconds(now - last_look).count(), 2 * pause);
    last_look = now;
    const Activity::Snapshot seen = activity_.look();
    waited = seen.what && seen.what == before.what && seen.signs == before.signs ? waited + passed : 0;
    before = seen;
    if (waited < seen.patience) continue;
    on_stall_(message_of(me_, seen));
    waited = 0;
  }
}

void end_stalled_process(const std::string& message) {
  if (!message.empty()) fmt::print(stderr, "{} (train.stall_timeout)\n", message);
  say_last_words();
  // The others, who began to wait at about the same time, have more to tell.
  std::this_thread::sleep_for(Seconds(kLongestPause));
  ::_exit(static_cast<int>(ExitCode::lost));
}

}  // namespace trainer
