#include "engine/system/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "engine/core/error.h"
#include "engine/system/exit_reason.h"

namespace trainer {
namespace {

// A signal handler reaches static objects only.
volatile std::sig_atomic_t asked_to_stop = 0, is_interrupted = 0;

[[noreturn]] void end_at_once() {
  constexpr std::string_view text = "error: interrupted twice: no checkpoint is saved\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  // 130 stands for a saved run.
  ::_exit(static_cast<int>(ExitCode::failure));
}

void note(int signal) {
  asked_to_stop = 1;
  // Launchers end the surviving ranks of a failed job with SIGTERM.
  if (signal == SIGTERM) write_exit_reason();
  if (signal != SIGINT) return;
  if (is_interrupted != 0) end_at_once();
  is_interrupted = 1;
}

void set_handler(int signal, bool may_be_ignored) {
  struct sigaction action {
  }, before{};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, &before);
  if (may_be_ignored && before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
}

}  // namespace

StopSignals::StopSignals(bool owns_output) {
  asked_to_stop = 0;
  is_interrupted = 0;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) set_handler(signal, false);
  set_handler(SIGHUP, true);
  if (owns_output) set_handler(SIGPIPE, true);
}

StopSignals::~StopSignals() {
  // A launcher may repeat SIGUSR1 while MPI ends, and the rest of the output has no reader either.
  std::signal(SIGUSR1, SIG_IGN);
  if (asked_to_stop != 0) std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
  if (std::signal(SIGHUP, SIG_DFL) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

bool StopSignals::received() { return asked_to_stop != 0; }

HeldStop::HeldStop() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HeldStop::~HeldStop() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace trainer
