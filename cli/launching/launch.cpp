#include "cli/launching/launch.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/launching/launcher_output.h"
#include "cli/launching/launcher_signals.h"
#include "cli/launching/launcher_watch.h"
#include "cli/launching/restart.h"
#include "cli/terminal/text.h"
#include "engine/config/source.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {
namespace {

constexpr const char* kLaunched = "TRAINER_LAUNCHED";

[[noreturn]] void run_launcher(const LaunchCommand& command) {
  // A group of its own: Ctrl-C then reaches it once, through this program; a second one would make it skip
  // its clean-up.
  ::setpgid(0, 0);
  prepare_launcher_for_stop();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  ::setenv(kLaunched, "1", 1);
  std::vector<char*> words;
  for (const std::string& word : command.arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  fmt::print(stderr, "error: cannot start {}: {}\nhelp: is MPI's launcher installed?\n", words.front(),
             std::generic_category().message(errno));
  ::_exit(static_cast<int>(ExitCode::failure));
}

/// What processes on other hosts are to find in their environment, too.
std::vector<std::string> variables() {
  std::vector<std::string> names = restart_variables();
  names.emplace_back(kLaunched);
  return names;
}

/// " on a and b"; empty where the launcher chooses.
std::string places(const std::vector<HostShare>& hosts) {
  std::vector<std::string> names;
  for (const HostShare& share : hosts) names.push_back(share.host);
  return names.empty() ? "" : " on " + listed(names, "and");
}

/// Launchers have codes of their own for a rank that did not end by itself: 137 and 205, or 9.
bool means_lost(int code) {
  return code > static_cast<int>(ExitCode::lost) && code != static_cast<int>(ExitCode::interrupted);
}

/// What a shell returns for a program that a signal ended. Who insisted knows that nothing was saved.
int stopped_unsaved(const std::filesystem::path& run) {
  const int signal = stopped_by();
  if (has_insisted()) return 128 + signal;
  fmt::print(stderr, "error: stopped by signal {} ({})", signal, ::strsignal(signal));
  if (!run.empty())
    fmt::print(stderr, " before all processes could save\nhelp: {} goes on from the last checkpoint",
               shell_line({"trainer", run.string()}));
  fmt::print(stderr, "\n");
  return 128 + signal;
}

/// Runs the command to its end and gives its code, and in `told` what its processes told: no run, and the one
/// before counts. Error(lost) when some were lost.
int run_to_the_end(const LaunchCommand& command, Told& told) {
  LauncherOutput output(hand_on_stop);  // what they tell they tell when they train
  const pid_t child = ::fork();
  if (child < 0)
    throw Error(ExitCode::failure, "cannot start a process: " + std::generic_category().message(errno));
  if (child == 0) {
    ::dup2(output.input(), STDERR_FILENO);
    run_launcher(command);
  }
  hand_stop_to(child);
  output.start();
  bool was_killed = false;
  {
    const LauncherWatch watch(child);
    // Its number is nobody else's while it has not been waited for.
    siginfo_t end{};
    while (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
    was_killed = watch.has_killed();
  }
  hand_stop_to(0);
  const std::filesystem::path run_before = told.run;
  told = told_by(output.finish());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (told.run.empty()) told.run = run_before;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  constexpr int kStopped = static_cast<int>(ExitCode::interrupted);
  // The launcher may have been ended with its ranks, which had saved by then.
  if (code == kStopped || told.stopped) return kStopped;
  // A launcher that was told to stop may hide what its ranks ended with.
  const bool is_sure = stopped_by() == 0 || told.finished || launcher_keeps_codes();
  if (code == 0 && is_sure && !has_insisted()) return code;
  if (stopped_by() != 0) return stopped_unsaved(told.run);
  if (was_killed)
    throw Error(ExitCode::lost, "the launcher did not end by itself after its processes, or started none");
  if (!means_lost(code)) return code;
  throw Error(ExitCode::lost, fmt::format("a process was lost: the launcher ended with {}", code),
              "the system may have killed it for want of memory: see dmesg");
}

}  // namespace

int launch(const Arguments& arguments, std::chrono::steady_clock::time_point start) {
  note_start(start);
  take_stop_signals();
  std::vector<std::string> words = arguments.words;
  words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  int ranks = arguments.ranks;
  Told told;
  std::vector<HostShare> hosts;
  for (int restart = 1;; ++restart) {
    std::string loss;
    try {
      const int code = run_to_the_end(launch_command(ranks, words, variables(), hosts), told);
      if (code != static_cast<int>(ExitCode::lost) || restart > arguments.restarts) return code;
    } catch (const Error& error) {
      if (error.code() != ExitCode::lost || restart > arguments.restarts) throw;
      loss = error.diagnostics().front().what + ": ";
    }
    ranks = ranks_to_go_on(arguments, ranks, told);
    if (!told.hosts.empty()) hosts = told.hosts;
    restart_from(told.run);
    // A signal that came when there was no launcher to hand it to.
    if (stopped_by() != 0) return stopped_unsaved(told.run);
    fmt::print(stderr, "warning: {}restart {} of {}, with {}{}\n", loss, restart, arguments.restarts,
               counted(ranks, "process", "es"), places(hosts));
  }
}

bool was_launched() { return std::getenv(kLaunched) != nullptr; }

}  // namespace trainer
