#pragma once

#include <filesystem>
#include <string>

#include "cli/launching/rank_messages.h"
#include "cli/terminal/arguments.h"

namespace trainer {

inline constexpr const char* kRestartVariable = "TRAINER_RESTART";

/// How many of `ranks` ranks resume a run: the survivors, but at least one fewer than before, in whole
/// model groups of a mesh if that is possible.
int ranks_to_resume_with(const Arguments& arguments, int ranks, const RankReports& reports);

/// Makes the processes that are launched from now on resume `run`; empty: start from the beginning.
void set_restart(const std::filesystem::path& run);
/// Whether this process was launched after set_restart() with a run.
bool is_restart();
/// In such a process: changes the command line's arguments to those that resume the run with `ranks` ranks.
void apply_restart(Arguments& arguments, int ranks);

/// Changes a command line's arguments to those that resume `run`.
void resume_instead(Arguments& arguments, const std::string& run);

}  // namespace trainer
