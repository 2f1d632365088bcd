#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/launching/launch_command.h"

namespace trainer {

// Ranks report to the `trainer -n` that launched them, by lines on standard error that only it sees.

/// From rank 0: the run's directory.
void report_run(const std::filesystem::path& directory);

enum class RunEnd { finished, stopped, stopped_unsaved };
/// From rank 0, when everything is saved: how the run ended.
void report_end(RunEnd end);

/// Makes this rank report that it survives when its job breaks down. `hosts`: of all ranks.
void prepare_survivor_report(int rank, int hosts);

/// A sign of life of a rank.
std::string heartbeat_line();
bool is_heartbeat(const std::string& line);
bool is_survivor_report(const std::string& line);

/// What the ranks of a job reported.
struct RankReports {
  std::filesystem::path run;  ///< empty before there is one
  bool finished = false, stopped = false, stopped_unsaved = false;
  bool lost = false;             ///< a rank found that another is lost
  int survivors = 0;             ///< 0 if none could report
  std::vector<HostShare> hosts;  ///< of the survivors; empty if all ranks were on one host
};
RankReports read_reports(const std::vector<std::string>& lines);

}  // namespace trainer
