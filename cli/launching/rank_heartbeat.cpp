#include "cli/launching/rank_heartbeat.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>

#include "cli/launching/rank_messages.h"

namespace trainer {
namespace {

constexpr std::chrono::seconds kPause(3);

void beat(const std::stop_token& stop) {
  const std::string line = heartbeat_line();
  std::mutex mutex;
  std::condition_variable_any alarm;
  std::unique_lock lock(mutex);
  do {
    // A launcher that does not read must not keep this rank from its end.
    pollfd error{.fd = STDERR_FILENO, .events = POLLOUT};
    const bool is_writable = ::poll(&error, 1, 0) == 1 && (error.revents & POLLOUT) != 0;
    if (is_writable && ::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
  } while (!alarm.wait_for(lock, stop, kPause, [&] { return stop.stop_requested(); }));
}

}  // namespace

RankHeartbeat::RankHeartbeat() {
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::jthread([](const std::stop_token& stop) { beat(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace trainer
