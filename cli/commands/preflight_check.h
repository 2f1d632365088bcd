#pragma once

#include <string>
#include <vector>

#include "cli/commands/open_run.h"
#include "cli/terminal/arguments.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// Something that all ranks must have alike before they work together.
struct CommonFact {
  std::string name;  ///< "the program", "train.batch"
  std::string text;  ///< what a rank has, shown when another has something else
  ExitCode code = ExitCode::usage;
  std::string help;
};

/// Error, the same on all ranks, that names the first fact which is not the same everywhere, and the ranks
/// and hosts on each side. Every rank tells the same facts in the same order, or its list ends in a
/// difference. Collective.
void agree(Communicator& world, const std::vector<CommonFact>& facts);

/// The build and the flags that decide how ranks talk to one another: to be agreed on before they do.
std::vector<CommonFact> program_facts(const Arguments& arguments);

/// Configuration, data, kernels and the parameters of the model.
std::vector<CommonFact> run_facts(const OpenRun& run);

}  // namespace trainer
