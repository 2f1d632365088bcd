#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "engine/system/files.h"

namespace trainer {

/// Forwards standard output and standard error of an MPI launcher and its ranks, without the private lines,
/// which are for this program. A terminal stays the launcher's standard output, so that ranks see its size.
class LauncherOutput {
 public:
  /// `text`, which has no control characters, as a private line.
  static std::string private_line(const std::string& text);

  /// `on_line` receives each private line, from another thread, until finish() returns.
  explicit LauncherOutput(std::function<void(const std::string&)> on_line);
  ~LauncherOutput();
  LauncherOutput(const LauncherOutput&) = delete;
  LauncherOutput& operator=(const LauncherOutput&) = delete;

  /// In the launcher's process: its standard output and standard error lead here from now on.
  void connect() const;
  /// In this process, when the launcher runs.
  void start();
  /// When the launcher has ended: reads the rest.
  void finish();

  /// True while the reader of this program's own output keeps it waiting; the launcher then waits, too.
  bool is_blocked() const;
  /// True if this program's standard output could not be written.
  bool has_lost_output() const { return has_lost_output_; }

 private:
  struct Stream {
    int target;  ///< descriptor of this process that gets what is not private
    Descriptor read_end = Descriptor(-1), write_end = Descriptor(-1);
    bool is_open = true;
    std::string private_part = {};  ///< of a line whose end has not come
    bool is_private = false;
  };

  void listen(const std::stop_token& stop);
  void take(Stream& stream, std::string_view text);
  void pass_on(const Stream& stream, std::string_view text);

  std::array<Stream, 2> streams_;
  std::function<void(const std::string&)> on_line_;
  std::atomic<bool> is_blocked_{false}, has_lost_output_{false};
  std::jthread thread_;
};

}  // namespace trainer
