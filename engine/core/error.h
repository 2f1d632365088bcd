#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace trainer {

/// What the process returns; docs/errors.md lists what each one means to a user.
enum class ExitCode : int {
  ok = 0,
  failure = 1,       ///< a bug, a full disk, a rank that throws
  usage = 2,         ///< YAML, flags, a layer that does not fit, run directory not writable
  data = 3,          ///< a data file missing or bad
  ranks = 4,         ///< wrong rank count, no parallel mode, batch smaller than the data ranks
  diverged = 5,      ///< NaN, or replicas that differ
  weights = 6,       ///< weights or checkpoint with wrong names, shapes or checksum
  lost = 7,          ///< a rank was lost or the run stalled
  interrupted = 130  ///< stopped by a signal, checkpoint saved
};

/// One mistake as a user reads it: what is wrong, where, and what would be right. The parts may hold any
/// text; text() escapes it.
struct Diagnostic {
  std::string what;     ///< one line, no full stop: "unknown key `filter` in conv"
  std::string place;    ///< "configs/a.yaml:11:14" or "-s train.epochs=x"; empty when there is none
  std::string excerpt;  ///< the source line(s) with a caret line, ready to print; may be empty
  std::vector<std::string> notes;  ///< facts, each printed after "= "
  std::string help;                ///< what would be right, printed after "help: "

  /// The whole message, beginning with "error: ", without a final newline.
  std::string text() const;
};

/// A failure that ends the program with a meaningful code. A user's mistakes are collected and thrown
/// together.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string what, std::string help = "");
  Error(ExitCode code, std::vector<Diagnostic> diagnostics);

  ExitCode code() const { return code_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  ExitCode code_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace trainer
