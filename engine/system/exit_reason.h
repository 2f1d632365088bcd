#pragma once

#include <string>

namespace trainer {

/// Prepares the text that a surviving process writes to standard error when its job fails. The launching
/// program learns from it which processes survive.
void prepare_exit_reason(const std::string& words);

/// Writes the prepared text once. Signal handlers may call it.
void write_exit_reason();

}  // namespace trainer
