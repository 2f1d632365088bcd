#pragma once

#include <string>

namespace trainer {

/// Prepares what this process writes to standard error, in one piece, when its job breaks down and it is not
/// the lost one: the launcher learns which processes survive.
void prepare_exit_reason(const std::string& words);

/// Writes the prepared text once. Signal handlers may call it.
void write_exit_reason();

}  // namespace trainer
