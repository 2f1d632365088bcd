#include "cli/terminal/renewed_line.h"

#include <unistd.h>

#include "cli/terminal/output.h"

namespace trainer {

RenewedLine::RenewedLine() : is_terminal_(::isatty(STDERR_FILENO) != 0) {}

bool RenewedLine::is_due() const { return is_terminal_ && std::chrono::steady_clock::now() >= next_; }

void RenewedLine::show(const std::string& text) {
  if (!is_terminal_) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const std::string line = "\r" + text;
  if (::write(STDERR_FILENO, line.data(), line.size()) > 0) is_open_ = true;
}

void RenewedLine::end() {
  if (is_open_) print_message("\n");
  is_open_ = false;
}

}  // namespace trainer
