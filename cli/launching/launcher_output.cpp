#include "cli/launching/launcher_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "engine/core/error.h"

namespace trainer {
namespace {

/// Messages hold no control characters, so nobody else's line begins with this one.
constexpr char kMark = '\x1c';
/// Between two looks whether the launcher has ended; what it writes is handed on at once.
constexpr int kPauseMilliseconds = 100;

}  // namespace

std::string LauncherOutput::private_line(const std::string& text) { return kMark + text + "\n"; }

LauncherOutput::LauncherOutput(std::function<void()> heard) : heard_(std::move(heard)) {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(ExitCode::failure, "cannot make a pipe: " + std::generic_category().message(errno));
  // Launchers expect that writing waits.
  ::fcntl(ends_[1], F_SETFL, 0);
}

LauncherOutput::~LauncherOutput() {
  finish();
  for (const int end : ends_)
    if (end >= 0) ::close(end);
}

void LauncherOutput::start() {
  ::close(std::exchange(ends_[1], -1));
  thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

std::vector<std::string> LauncherOutput::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  return std::move(private_lines_);
}

void LauncherOutput::listen(const std::stop_token& stop) {
  char text[4096];
  for (bool last = false; !last;) {
    // What was written before the launcher ended is there by then. Its end need not close the pipe: others
    // that it started may have it.
    last = stop.stop_requested();
    pollfd pipe{.fd = ends_[0], .events = POLLIN};
    if (!last) ::poll(&pipe, 1, kPauseMilliseconds);
    ssize_t count = 0;
    while ((count = ::read(ends_[0], text, sizeof text)) > 0) take(text, static_cast<std::size_t>(count));
    // All have closed it.
    if (count == 0) last = true;
  }
}

void LauncherOutput::take(const char* text, std::size_t count) {
  const char* const end = text + count;
  while (text < end) {
    const char* const part = std::find(text, end, within_ ? '\n' : kMark);
    if (within_)
      private_lines_.back().append(text, part);
    else
      std::fwrite(text, 1, static_cast<std::size_t>(part - text), stderr);
    if (part == end) return;
    within_ = !within_;
    if (within_)
      private_lines_.emplace_back();
    else
      heard_();
    text = part + 1;
  }
}

}  // namespace trainer
