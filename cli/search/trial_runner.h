#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/launching/child_process.h"
#include "cli/search/search_folder.h"

namespace trainer {

/// Runs trials as processes of this program, so that the end of one is not the end of all. What a trial gives
/// does not depend on how many run at a time, or on which of them ends first.
class TrialRunner {
 public:
  struct Options {
    std::vector<std::string> flags;  ///< of `trainer train` for each trial: -n, --datapar, --threads ...
    int jobs = 1;                    ///< trials at a time
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::function<void(const Trial&, const Outcome&)> on_end;  ///< called as trials end
  };
  TrialRunner(SearchFolder& folder, const ScoreFacts& facts, Options options);

  /// Trains these trials until `share` of their steps are done, those excepted that were before this
  /// process. False if a signal or the deadline stopped it: trials that were running have saved.
  bool run(const std::vector<Trial>& trials, double share);

  /// The last outcome of a trial; nothing if it has not ended yet.
  std::optional<Outcome> outcome(const Trial& trial) const;
  /// The outcome of a trial that has done `share`, at that share or where it ended before.
  Outcome outcome_at(const Trial& trial, double share) const;

 private:
  struct Running {
    Trial trial;
    int slot = 0;
    ChildProcess process;
  };
  bool is_done(const Trial& trial, double share) const;
  Running start(const Trial& trial, double share, int slot) const;
  bool should_stop() const;

  SearchFolder& folder_;
  const ScoreFacts& facts_;
  Options options_;
  std::map<int, std::vector<Outcome>> outcomes_;  ///< by rising share
  std::vector<std::vector<Core>> cores_;          ///< of each slot; empty: all
};

}  // namespace trainer
