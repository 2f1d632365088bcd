#include "cli/terminal/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "engine/core/error.h"

namespace trainer {
namespace {

void write(std::FILE* stream, std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stream); }

}  // namespace

void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one. Opened for the other direction, it fails like a closed one.
    ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void print_result(std::string_view text) { write(stdout, printable(text, true)); }

void print_bytes(std::string_view bytes) { write(stdout, bytes); }

void print_message(std::string_view text) {
  std::fflush(stdout);
  write(stderr, printable(text, true));
}

bool flush_output() { return std::fflush(stdout) == 0 && !std::ferror(stdout); }

}  // namespace trainer
