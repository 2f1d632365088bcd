#include "cli/launching/launcher_signals.h"

#include <atomic>
#include <csignal>

namespace trainer {
namespace {

// A signal handler reaches static objects only, and runs in any thread. No std::atomic<bool>: RISC-V has no
// instructions for atomic bytes.
std::atomic<int> launcher{0}, last{0}, is_twice_interrupted{0}, has_ranks{0};
static_assert(std::atomic<int>::is_always_lock_free);

/// Launchers kill the ranks a second after SIGTERM or SIGINT. They pass SIGUSR1 on at once, and the ranks
/// save and stop.
void forward() {
  if (const pid_t process = launcher; process > 0 && (has_ranks != 0 || is_twice_interrupted != 0))
    ::kill(process, is_twice_interrupted != 0 ? SIGINT : SIGUSR1);
}

/// After a second Ctrl-C the ranks end without a checkpoint.
void note(int signal) {
  if (signal == SIGINT && last == SIGINT) is_twice_interrupted = 1;
  last = signal;
  forward();
}

void mask_termination(int how) {
  sigset_t termination;
  sigemptyset(&termination);
  sigaddset(&termination, SIGTERM);
  ::sigprocmask(how, &termination, nullptr);
}

}  // namespace

void catch_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, note);
  // nohup ignores SIGHUP, so that the run outlives its terminal.
  for (const int signal : {SIGHUP, SIGPIPE})
    if (std::signal(signal, note) == SIG_IGN) std::signal(signal, SIG_IGN);
}

void set_signalled_launcher(pid_t process) {
  has_ranks = 0;
  launcher = process;
}

void prepare_launcher_for_signals() {
  // SIGUSR1 would kill the launcher before it has a handler, or after it gave that up. Ranks do not inherit
  // this.
  std::signal(SIGUSR1, SIG_IGN);
  // A service manager sends SIGTERM to all processes at once, which would give the ranks a second to save.
  mask_termination(SIG_BLOCK);
}

void prepare_rank_for_signals() { mask_termination(SIG_UNBLOCK); }

void forward_stop_signals() {
  const bool is_first = has_ranks.exchange(1) == 0;
  // After a second SIGINT, launchers skip their clean-up.
  if (last != 0 && (is_first || is_twice_interrupted == 0)) forward();
}

int stop_signal() { return last; }

bool has_second_interrupt() { return is_twice_interrupted != 0; }

}  // namespace trainer
