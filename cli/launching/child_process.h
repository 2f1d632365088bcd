#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/system/topology.h"

namespace trainer {

/// A process of this program with another command line. Its output is added to a file, and it has no input.
/// It is asked to stop when this process ends, however that comes about.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> words;  ///< without the program's name
    std::filesystem::path output;
    std::vector<Core> cores = {};  ///< on which it runs; empty: those of this process
  };
  /// Error(failure) if it cannot be started.
  explicit ChildProcess(const Options& options);
  /// Asks it to stop, and waits.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// Its exit code, or 128 + the signal that ended it; nothing while it runs.
  std::optional<int> poll();
  /// It saves and stops, like after SIGTERM.
  void ask_to_stop() const;

 private:
  pid_t process_ = 0;  ///< 0: it has ended
  std::optional<int> code_;
};

}  // namespace trainer
