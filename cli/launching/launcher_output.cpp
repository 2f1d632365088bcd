#include "cli/launching/launcher_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/core/error.h"

namespace trainer {
namespace {

/// Begins a private line. Messages hold no control characters, so no other line begins with it.
constexpr char kMark = '\x1c';
/// Between two checks whether the launcher has ended.
constexpr int kPauseMilliseconds = 100;

}  // namespace

std::string LauncherOutput::private_line(const std::string& text) { return kMark + text + "\n"; }

LauncherOutput::LauncherOutput(std::function<void(const std::string&)> on_line)
    : streams_{Stream{.target = STDOUT_FILENO}, Stream{.target = STDERR_FILENO}},
      on_line_(std::move(on_line)) {
  for (Stream& stream : streams_) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
      throw Error(ExitCode::failure, "cannot make a pipe: " + std::generic_category().message(errno));
    stream.read_end = Descriptor(ends[0]);
    stream.write_end = Descriptor(ends[1]);
    // Launchers expect blocking writes.
    ::fcntl(ends[1], F_SETFL, 0);
  }
}

LauncherOutput::~LauncherOutput() { finish(); }

void LauncherOutput::connect() const {
  for (const Stream& stream : streams_)
    if (stream.target == STDERR_FILENO || ::isatty(stream.target) != 1)
      ::dup2(stream.write_end.number(), stream.target);
}

bool LauncherOutput::is_blocked() const {
  // The user may have stopped the terminal (Ctrl-S).
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT};
  return is_blocked_ || (::isatty(STDOUT_FILENO) == 1 && ::poll(&output, 1, 0) == 0);
}

void LauncherOutput::start() {
  for (Stream& stream : streams_) stream.write_end.close();
  thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

void LauncherOutput::finish() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void LauncherOutput::listen(const std::stop_token& stop) {
  char text[4096];
  for (bool last = false; !last;) {
    // The pipes hold all that was written before the launcher ended. Processes that it left behind may keep
    // them open.
    last = stop.stop_requested();
    std::array<pollfd, 2> pipes{};
    for (std::size_t i = 0; i < streams_.size(); ++i)
      pipes[i] = {.fd = streams_[i].is_open ? streams_[i].read_end.number() : -1, .events = POLLIN};
    if (!last) ::poll(pipes.data(), pipes.size(), kPauseMilliseconds);
    for (Stream& stream : streams_) {
      ssize_t count = 0;
      while (stream.is_open && (count = ::read(stream.read_end.number(), text, sizeof text)) > 0)
        take(stream, std::string_view(text, static_cast<std::size_t>(count)));
      if (count == 0) stream.is_open = false;
    }
    last = last || (!streams_[0].is_open && !streams_[1].is_open);
  }
}

void LauncherOutput::take(Stream& stream, std::string_view text) {
  // Standard output may be binary (predict --npy), so it has no private lines.
  if (stream.target == STDOUT_FILENO) return pass_on(stream, text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(stream.is_private ? '\n' : kMark), text.size());
    if (stream.is_private)
      stream.private_part += text.substr(0, end);
    else
      pass_on(stream, text.substr(0, end));
    if (end == text.size()) return;
    if (stream.is_private) on_line_(std::exchange(stream.private_part, ""));
    stream.is_private = !stream.is_private;
    text.remove_prefix(end + 1);
  }
}

void LauncherOutput::pass_on(const Stream& stream, std::string_view text) {
  is_blocked_ = true;
  while (!text.empty()) {
    const ssize_t count = ::write(stream.target, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd target{.fd = stream.target, .events = POLLOUT};
      ::poll(&target, 1, kPauseMilliseconds);
      continue;
    }
    if (count < 0) {
      if (stream.target == STDOUT_FILENO) has_lost_output_ = true;
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  is_blocked_ = false;
}

}  // namespace trainer
