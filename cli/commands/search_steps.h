#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

/// The flags of the command line that place a trial, as words of `trainer train`.
std::vector<std::string> trial_flags(const Arguments& arguments);

/// Prints without a buffer: a pipe whose reader is gone then asks for a stop.
void print_at_once(const Job& job, std::string_view text);

/// Runs trials as the command line asks, and prints a line of the table for each that ends. All arguments
/// must outlive it.
TrialRunner make_runner(const Job& job, SearchFolder& folder, const ScoreFacts& facts,
                        const TrialTable& table);

/// The trials that have a result, best first.
std::vector<EndedTrial> ended_trials(const SearchPlan& plan, const TrialRunner& runner,
                                     const ScoreFacts& facts);

/// "stopped: 7 of 20 trials have a result; saved sweeps/a", and the command that resumes it.
std::string stopped_text(const SearchFolder& folder, const Arguments& arguments, std::size_t ended);

/// All trials failed; `first` is the first one.
[[noreturn]] void fail_with_all(const SearchFolder& folder, const EndedTrial& first);

}  // namespace trainer
