#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/search/trial_runner.h"
#include "cli/search/trial_table.h"

namespace trainer {

// What the commands that train a config several times have in common.

/// Error(ranks) inside an MPI job.
void require_no_launcher(const Job& job);

/// A search, and how its trials are compared.
struct OpenSearch {
  SearchFolder folder;
  ScoreFacts facts;
};
/// The search of a directory to resume, or a new one in `parent`: `make_plan` then reads the command line.
/// Checks the keys of all trials, and with its data and model the first one. Error(usage) also if the runs
/// have no evaluations, or no checkpoints although they pause.
OpenSearch open_search(const Job& job, const std::string& parent,
                       const std::function<SearchPlan()>& make_plan);

/// The flags of the command line that place a trial, as words of `trainer train`; and the threads that trials
/// at the same time have if the user chose none.
std::vector<std::string> trial_flags(const Arguments& arguments);
std::vector<std::string> with_threads(const Arguments& arguments, std::vector<std::string> flags);

/// Of --time.
std::optional<std::chrono::steady_clock::time_point> deadline_of(const Job& job);

/// "stopped: 7 of 20 trials have a result; saved sweeps/a", and the command that resumes it.
std::string stopped_text(const SearchFolder& folder, const Arguments& arguments, std::size_t ended);

/// All trials failed; `first` is the first one.
[[noreturn]] void fail_with_all(const SearchFolder& folder, const EndedTrial& first);

}  // namespace trainer
