#pragma once

#include <csignal>

namespace trainer {

/// While one lives, SIGTERM, SIGINT and SIGUSR1 ask the program to stop where it can, in place of ending it.
/// A second SIGINT ends it at once. A process has one at a time; SIGUSR1 is ignored after it.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// True once any of them has come.
  static bool asked();
};

/// While one lives, SIGUSR1 waits, for this thread and those that it starts.
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
