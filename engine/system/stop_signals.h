#pragma once

#include <csignal>

namespace trainer {

/// While one lives, SIGTERM, SIGINT, SIGUSR1, and SIGHUP unless it is ignored, ask the program to save and
/// stop. So does SIGPIPE, unless it is ignored, in a process that owns its standard output: its reader is
/// gone. A second SIGINT ends the process at once, with exit code 1. A process has one object at a time;
/// SIGUSR1 is ignored after it, and SIGPIPE after a stop.
class StopSignals {
 public:
  explicit StopSignals(bool owns_output);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// True once any of these signals has come.
  static bool received();
};

/// While one lives, SIGUSR1 stays pending, for this thread and those that it starts.
class HeldStop {
 public:
  HeldStop();
  ~HeldStop();
  HeldStop(const HeldStop&) = delete;
  HeldStop& operator=(const HeldStop&) = delete;

 private:
  sigset_t before_;
};

}  // namespace trainer
