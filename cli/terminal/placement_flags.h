#pragma once

#include <string>
#include <vector>

#include "cli/terminal/arguments.h"

namespace trainer {

/// The flags of a command line that choose where a run computes, --ranks excepted, as words of another one:
/// {"--mesh", "2x2", "--threads", "2"}.
std::vector<std::string> placement_flags(const Arguments& arguments);

}  // namespace trainer
