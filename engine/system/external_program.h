#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainer {

/// A program of the user: without input, with its output in files, in a process group of its own. It does not
/// see the variables by which an MPI launcher describes this process, so it may be a parallel program itself.
/// It is killed when this object ends, or this process.
class ExternalProgram {
 public:
  struct Options {
    std::vector<std::string> words;  ///< the program as find_program() takes it, and its arguments
    std::filesystem::path output, errors;
  };
  /// Error(failure) if it cannot be started.
  explicit ExternalProgram(const Options& options);
  /// Kills its process group if it runs, and waits.
  ~ExternalProgram();
  ExternalProgram(const ExternalProgram&) = delete;
  ExternalProgram& operator=(const ExternalProgram&) = delete;

  /// Its exit code, or 128 + the signal that ended it; nothing while it runs.
  std::optional<int> poll();

 private:
  pid_t process_ = 0;  ///< 0: it has ended
  std::optional<int> code_;
};

/// The file of a program: a path if `name` has a slash, else found in PATH. Empty if there is none that may
/// be executed.
std::filesystem::path find_program(const std::string& name);

}  // namespace trainer
