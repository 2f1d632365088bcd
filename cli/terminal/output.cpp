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

void write(std::FILE* stream, std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stream); }

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

void print_message(std::string_view text) {
  std::fflush(stdout);
  write(stderr, escaped_lines(text));
}

TextStream::TextStream() : TextStream(::isatty(STDOUT_FILENO) == 1) {}

void TextStream::add(std::string_view piece) const {
  print_bytes(is_terminal_ ? escaped_but_tabs(piece) : piece);
  std::fflush(stdout);
}

bool flush_output() { return std::fflush(stdout) == 0 && !std::ferror(stdout); }

}  // namespace trainer
