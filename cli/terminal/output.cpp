#include "cli/terminal/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "engine/core/escape.h"

namespace trainer {
namespace {

std::string escaped_but_tabs(std::string_view text) {
  std::string result;
  for (std::size_t tab = 0; (tab = text.find('\t')) != std::string_view::npos; text.remove_prefix(tab + 1))
    result += escaped_lines(text.substr(0, tab)) + '\t';
  return result + escaped_lines(text);
}

bool has_status = false;

void write(std::FILE* stream, std::string_view bytes) {
  constexpr std::string_view kClear = "\r\x1b[J";
  if (has_status) std::fwrite(kClear.data(), 1, kClear.size(), stdout);
  has_status = false;
  if (stream == stderr) std::fflush(stdout);
  std::fwrite(bytes.data(), 1, bytes.size(), stream);
}

}  // namespace

void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one. Opened for the other direction, it fails like a closed one.
    ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void print_result(std::string_view text) { write(stdout, escaped_lines(text)); }

void print_bytes(std::string_view bytes) { write(stdout, bytes); }

void print_message(std::string_view text) { write(stderr, escaped_lines(text)); }

void print_status(std::string_view line) {
  // The cursor waits at the left: the ^C that a terminal echoes behind a full line would wrap it.
  write(stdout, line.empty() ? "" : std::string(line) + "\r");
  has_status = !line.empty();
  std::fflush(stdout);
}

TextStream::TextStream() : TextStream(::isatty(STDOUT_FILENO) == 1) {}

void TextStream::add(std::string_view piece) const {
  print_bytes(is_terminal_ ? escaped_but_tabs(piece) : piece);
  std::fflush(stdout);
}

bool flush_output() { return std::fflush(stdout) == 0 && !std::ferror(stdout); }

}  // namespace trainer
