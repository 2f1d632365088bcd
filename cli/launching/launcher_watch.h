#pragma once

#include <sys/types.h>

#include <atomic>
#include <thread>

namespace trainer {

/// Ends an MPI launcher that stays although the processes it started are gone, or that starts none: it may
/// have lost its way when a disk was full or a host was cut off, and would keep a job for ever. Tells it
/// to stop where this program was told to, again and again.
class LauncherWatch {
 public:
  explicit LauncherWatch(pid_t launcher);
  /// True when the launcher had to be killed.
  bool has_killed() const { return has_killed_; }

 private:
  void watch(const std::stop_token& stop);

  pid_t launcher_;
  std::atomic<bool> has_killed_{false};
  std::jthread thread_;
};

}  // namespace trainer
