#pragma once

#include <string>
#include <vector>

#include "cli/commands/open_run.h"
#include "cli/terminal/arguments.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// A fact that must be the same on all ranks before they work together.
struct CommonFact {
  std::string name;  ///< "the program", "train.batch"
  std::string text;  ///< of this rank; shown where ranks differ
  ExitCode code = ExitCode::usage;
  std::string help;
};

/// Throws the same Error on all ranks if a fact differs: it names the first such fact, and the ranks and
/// hosts on each side. Every rank passes the same facts in the same order, or its list ends in a difference.
/// Collective.
void preflight_check(Communicator& world, const std::vector<CommonFact>& facts);

/// The build and the flags that decide how ranks communicate: to be compared first.
std::vector<CommonFact> program_facts(const Arguments& arguments);

/// Configuration, data, kernels and the parameters of the model.
std::vector<CommonFact> run_facts(const OpenRun& run);

}  // namespace trainer
