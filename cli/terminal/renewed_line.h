#pragma once

#include <chrono>
#include <string>

namespace trainer {

/// A line on standard error that shows progress: each text takes the place of the one before. One is due ten
/// times a second. Without a terminal none is due or shown.
class RenewedLine {
 public:
  RenewedLine();
  ~RenewedLine() { end(); }
  RenewedLine(const RenewedLine&) = delete;
  RenewedLine& operator=(const RenewedLine&) = delete;

  bool is_due() const;
  /// It must not be shorter than the one before, whose end would stay.
  void show(const std::string& text);
  /// Other lines can follow.
  void end();

 private:
  const bool is_terminal_;
  bool is_open_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace trainer
