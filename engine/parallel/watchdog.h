#pragma once

#include <functional>
#include <string>
#include <thread>

#include "engine/parallel/heartbeat.h"

namespace trainer {

/// A thread that looks at a rank's activity now and then, and calls `on_stall` when the rank has waited for
/// longer than it may: nothing else would end a job of which a rank is stopped or out of reach.
class Watchdog {
 public:
  /// `me` names this rank in what on_stall is told.
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

/// Prints what a watchdog has found, if anything, and ends this process with ExitCode::lost, whatever MPI is
/// in the midst of; its launcher then ends the others.
[[noreturn]] void end_stalled_process(const std::string& message);

}  // namespace trainer
