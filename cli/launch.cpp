#include "cli/launch.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/parallel/mpi_world.h"

namespace trainer {
namespace {

constexpr const char* kLaunched = "TRAINER_LAUNCHED";

volatile sig_atomic_t launcher_process = 0;

void pass_on(int signal) {
  if (launcher_process > 0) ::kill(launcher_process, signal);
}

[[noreturn]] void run_launcher(const LaunchCommand& command) {
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

/// A launcher has codes of its own for ranks that a signal ended.
ExitCode meaning_of(int code) {
  constexpr int kKilledRank = 128 + SIGKILL, kLostDaemon = 205;
  if (code == kKilledRank || code == kLostDaemon) return ExitCode::lost;
  return static_cast<ExitCode>(code);
}

}  // namespace

int launch(const Arguments& arguments) {
  std::vector<std::string> words = arguments.words;
  words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  const LaunchCommand command = launch_command(arguments.ranks, words);
  const pid_t child = ::fork();
  if (child < 0)
    throw Error(ExitCode::failure, "cannot start a process: " + std::generic_category().message(errno));
  if (child == 0) run_launcher(command);
  launcher_process = child;
  std::signal(SIGTERM, pass_on);
  std::signal(SIGHUP, pass_on);
  std::signal(SIGINT, SIG_IGN);  // the terminal sends Ctrl-C to the launcher as well
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return static_cast<int>(meaning_of(code));
}

bool was_launched() { return std::getenv(kLaunched) != nullptr; }

}  // namespace trainer
