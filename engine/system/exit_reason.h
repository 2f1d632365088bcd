#pragma once

#include <string>

namespace trainer {

/// What this process is to write to standard error, in one piece, when its job breaks down and it is not the
/// one that is lost; so the launcher learns who is left.
void prepare_exit_reason(const std::string& words);

/// Writes them, the first time. Signal handlers may call it.
void write_exit_reason();

}  // namespace trainer
