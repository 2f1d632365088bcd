#include "engine/system/stop_signals.h"

#include <csignal>

#include "engine/system/exit_reason.h"

namespace trainer {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1};

/// A handler can reach nothing but what is static.
volatile std::sig_atomic_t asked_to_stop = 0;

void note(int signal) {
  asked_to_stop = 1;
  // Where a job breaks down, launchers end those that are left with this one.
  if (signal == SIGTERM) write_exit_reason();
  if (signal == SIGINT) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  asked_to_stop = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

StopSignals::~StopSignals() {
  // Whoever asks to stop may ask again, while MPI ends.
  std::signal(SIGUSR1, SIG_IGN);
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
}

bool StopSignals::asked() { return asked_to_stop != 0; }

HeldStop::HeldStop() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HeldStop::~HeldStop() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace trainer
