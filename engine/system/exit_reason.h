#pragma once

#include <string>

namespace trainer {

/// Prepares the text that a surviving process writes to standard error when its job fails. The launching
/// program learns from it which processes survive.
void prepare_exit_reason(const std::string& words);

/// Writes the prepared text once. Signal handlers may call it.
void write_exit_reason();

/// Prepares the text that a process writes before its reason when it finds that another is lost. A launcher
/// may replace the exit code of that process.
void prepare_loss_report(const std::string& words);
void write_loss_report();

}  // namespace trainer
