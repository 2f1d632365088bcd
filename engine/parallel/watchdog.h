#pragma once

#include <functional>
#include <string>
#include <thread>

#include "engine/parallel/heartbeat.h"

namespace trainer {

/// A thread that reads a rank's heartbeat and calls `on_stall` when the rank has waited for too long. MPI
/// alone does not end a job in which a rank is stopped or unreachable.
class Watchdog {
 public:
  /// `me`: the name of this rank in the message for on_stall.
  Watchdog(const Heartbeat& heartbeat, std::string me, std::function<void(const std::string&)> on_stall);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(const std::stop_token& stop);

  const Heartbeat& heartbeat_;
  std::string me_;
  std::function<void(const std::string&)> on_stall_;
  std::jthread thread_;  // last: it uses the others
};

/// Prints the message, unless it is empty, and ends this process with ExitCode::lost, also within a call of
/// MPI. The launcher then ends the other ranks.
[[noreturn]] void end_stalled_process(const std::string& message);

}  // namespace trainer
