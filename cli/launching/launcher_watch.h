#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "cli/launching/launcher_output.h"

namespace trainer {

/// Heartbeats and failures that the ranks of a job report in private lines to the launching program.
class RankSigns {
 public:
  /// Counts a private line. Returns true if it is a heartbeat, which needs no further handling.
  bool note(const std::string& line);
  /// The number of lines so far.
  int count() const { return count_; }
  /// True once a rank has reported that the job breaks down.
  bool is_ending() const { return is_ending_; }

 private:
  std::atomic<int> count_{0};
  std::atomic<bool> is_ending_{false};
};

/// Kills an MPI launcher that stays although its ranks are gone, or that starts none: after a full disk or
/// the loss of a host it can hang for ever. A rank lives if it is a process of this host below the launcher,
/// or if its heartbeats come. Forwards stop signals on each look.
class LauncherWatch {
 public:
  /// How long the watch waits for a sign of any rank.
  struct Patience {
    std::chrono::milliseconds to_start{120'000};  ///< for the first one, without any child of the launcher
    std::chrono::milliseconds silent{30'000};     ///< for the next one
    std::chrono::milliseconds to_end{10'000};     ///< for the end of the launcher after its ranks
  };

  LauncherWatch(pid_t launcher, const RankSigns& signs, const LauncherOutput& output)
      : LauncherWatch(launcher, signs, output, Patience{}) {}
  LauncherWatch(pid_t launcher, const RankSigns& signs, const LauncherOutput& output, Patience patience);
  bool has_killed() const { return has_killed_; }

 private:
  void watch(const std::stop_token& stop);

  pid_t launcher_;
  const RankSigns& signs_;
  const LauncherOutput& output_;
  Patience patience_;
  std::atomic<bool> has_killed_{false};
  std::jthread thread_;
};

}  // namespace trainer
