#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace trainer {

/// Takes what a launcher and its processes write to standard error, hands it on, and keeps the lines that are
/// for this program alone.
class LauncherOutput {
 public:
  /// A line for whoever listens; `text` holds no control characters.
  static std::string private_line(const std::string& text);

  /// What is written to input() from now on; start() when the launcher has it. `heard` is called, by another
  /// thread, after each private line.
  explicit LauncherOutput(std::function<void()> heard = [] {});
  ~LauncherOutput();
  LauncherOutput(const LauncherOutput&) = delete;
  LauncherOutput& operator=(const LauncherOutput&) = delete;
  int input() const { return ends_[1]; }
  void start();
  /// When the launcher has ended: the private lines, in order.
  std::vector<std::string> finish();

 private:
  void listen(const std::stop_token& stop);
  void take(const char* text, std::size_t count);

  int ends_[2] = {-1, -1};
  bool within_ = false;  ///< a private line
  std::vector<std::string> private_lines_;
  std::function<void()> heard_;
  std::jthread thread_;
};

}  // namespace trainer
