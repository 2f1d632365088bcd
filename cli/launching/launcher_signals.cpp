#include "cli/launching/launcher_signals.h"

#include <atomic>
#include <csignal>

namespace trainer {
namespace {

// A handler can reach nothing but what is static, and runs in any thread.
std::atomic<int> launcher{0}, last{0};
std::atomic<bool> insisted{false}, listens{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

/// Launchers end the ranks a second after SIGTERM or SIGINT, but hand SIGUSR1 on at once: the ranks save and
/// stop.
void hand_on() {
  if (const pid_t process = launcher; process > 0 && (listens || insisted))
    ::kill(process, insisted ? SIGTERM : SIGUSR1);
}

/// A second Ctrl-C wants no more than an end.
void note(int signal) {
  if (signal == SIGINT && last == SIGINT) insisted = true;
  last = signal;
  hand_on();
}

}  // namespace

void take_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, note);
  // Whoever started it by nohup wants it to outlive the terminal.
  if (std::signal(SIGHUP, note) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

void hand_stop_to(pid_t process) {
  listens = false;
  launcher = process;
}

void prepare_launcher_for_stop() {
  // It would die of what comes before it has a handler, or after it gave that up; its ranks do not inherit
  // it.
  std::signal(SIGUSR1, SIG_IGN);
}

void hand_on_stop() {
  const bool is_first = !listens.exchange(true);
  // A second SIGTERM makes launchers skip their clean-up.
  if (last != 0 && (is_first || !insisted)) hand_on();
}

int stopped_by() { return last; }

bool has_insisted() { return insisted; }

}  // namespace trainer
