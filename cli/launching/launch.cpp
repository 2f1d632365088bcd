#include "cli/launching/launch.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/launching/job_start.h"
#include "cli/launching/launch_command.h"
#include "cli/launching/launcher_output.h"
#include "cli/launching/launcher_signals.h"
#include "cli/launching/launcher_watch.h"
#include "cli/launching/rank_messages.h"
#include "cli/launching/restart.h"
#include "cli/terminal/output.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLaunchedVariable = "TRAINER_LAUNCHED";
constexpr const char* kSharedMemoryVariable = "TRAINER_SHARED_MEMORY";
constexpr const char* kSharedMemory = "/dev/shm";
constexpr int kStopped = static_cast<int>(ExitCode::interrupted);

/// The folders of a job on this host: the launcher's session files, and the files of shared memory.
struct JobFolders {
  PrivateFolder session, shared_memory;

  JobFolders() {
    std::error_code error;
    const fs::path temporary = fs::temp_directory_path(error);
    if (error) return;
    session = PrivateFolder::create(temporary);
    if (session.path().empty() || !fs::is_directory(kSharedMemory, error)) return;
    shared_memory = PrivateFolder::join(kSharedMemory / session.path().filename());
    if (!shared_memory.path().empty()) ::setenv(kSharedMemoryVariable, shared_memory.path().c_str(), 1);
  }
};

[[noreturn]] void become_launcher(const LaunchCommand& command, const JobFolders& folders) {
  // In a process group of its own, the launcher gets Ctrl-C once, from this program. A second SIGINT would
  // make it skip its clean-up.
  ::setpgid(0, 0);
  prepare_launcher_for_signals();
  folders.session.keep_through_exec();
  ::prctl(PR_SET_PDEATHSIG, SIGINT);  // SIGTERM is held back
  for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 0);
  ::setenv(kLaunchedVariable, "1", 1);
  std::vector<char*> words;
  for (const std::string& word : command.arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  print_message(fmt::format("error: cannot start {}: {}\nhelp: is MPI's launcher installed?\n", words.front(),
                            std::generic_category().message(errno)));
  ::_exit(static_cast<int>(ExitCode::failure));
}

/// Variables that processes on other hosts need, too.
std::vector<std::string> forwarded_variables() {
  std::vector<std::string> names{kLaunchedVariable};
  for (const char* name : {kRestartVariable, kJobStartVariable, kSharedMemoryVariable, "TRAINER_DATA",
                           "TRAINER_ENGINE", "TRAINER_INSTRUCTIONS"})
    if (std::getenv(name)) names.emplace_back(name);
  return names;
}

/// " on a and b"; empty if the launcher chooses.
std::string hosts_text(const std::vector<HostShare>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const HostShare& share : hosts) names.push_back(share.host);
  return names.empty() ? "" : " on " + listed(names, "and");
}

/// Launchers return their own codes for a rank that was killed or lost: 137 and 205, or 9.
bool means_lost(int code) { return code > static_cast<int>(ExitCode::lost) && code != kStopped; }

/// The code of a run that a signal ended without a checkpoint: 128 + the signal as in a shell, but never 130,
/// which means a saved run.
int stopped_unsaved(const fs::path& run) {
  const int signal = stop_signal(), shell_code = 128 + signal;
  const int code = shell_code == kStopped ? static_cast<int>(ExitCode::failure) : shell_code;
  if (has_second_interrupt()) return code;
  std::string message = fmt::format("error: stopped by signal {} ({})", signal, ::strsignal(signal));
  if (!run.empty())
    message += fmt::format(" before all processes could save\nhelp: {} resumes from the last checkpoint",
                           shell_line({"trainer", run.string()}));
  print_message(message + "\n");
  return code;
}

/// One start of the MPI launcher.
struct JobEnd {
  int code = 0;
  bool was_killed = false;  ///< by this program's watch
  bool has_lost_output = false;
  RankReports reports;
};

JobEnd run_launcher(const LaunchCommand& command, const JobFolders& folders) {
  RankSigns signs;
  std::vector<std::string> lines;
  LauncherOutput output([&](const std::string& line) {
    forward_stop_signals();  // there are ranks
    if (!signs.note(line)) lines.push_back(line);
  });
  const pid_t child = ::fork();
  if (child < 0)
    throw Error(ExitCode::failure, "cannot start a process: " + std::generic_category().message(errno));
  if (child == 0) {
    output.connect();
    become_launcher(command, folders);
  }
  set_signalled_launcher(child);
  output.start();
  JobEnd end;
  {
    const LauncherWatch watch(child, signs, output);
    // WNOWAIT keeps the process id reserved while the watch may still signal it.
    siginfo_t information{};
    while (::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR)
      continue;
    end.was_killed = watch.has_killed();
  }
  set_signalled_launcher(0);
  output.finish();
  end.has_lost_output = output.has_lost_output();
  end.reports = read_reports(lines);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

/// The exit code of a run that ended in this way. Error(lost) when a process was lost.
int exit_code(const JobEnd& end) {
  const RankReports& reports = end.reports;
  // The ranks may have saved before a signal ended the launcher.
  if (reports.stopped) return kStopped;
  if (reports.stopped_unsaved) return static_cast<int>(ExitCode::failure);
  // After a signal, a launcher may hide the exit code of its ranks.
  const bool is_sure = stop_signal() == 0 || reports.finished || launcher_keeps_codes();
  if (end.code == 0 && is_sure && !has_second_interrupt()) {
    if (end.has_lost_output) throw Error(ExitCode::failure, "cannot write standard output");
    return 0;
  }
  if (stop_signal() != 0) return stopped_unsaved(reports.run);
  if (end.was_killed)
    throw Error(ExitCode::lost, "the launcher did not end by itself after its processes, or started none");
  // MPICH's launcher may return 1 in place of the code of a rank that ended without MPI_Finalize.
  if (reports.lost) return static_cast<int>(ExitCode::lost);
  if (end.code != kStopped && !means_lost(end.code)) return end.code;
  throw Error(ExitCode::lost, fmt::format("a process was lost: the launcher ended with {}", end.code),
              "the system may have killed it for lack of memory: see dmesg");
}

}  // namespace

int launch(const Arguments& arguments, std::chrono::steady_clock::time_point start) {
  catch_stop_signals();
  const JobFolders folders;
  std::vector<std::string> words = arguments.words;
  words.front() = fs::read_symlink("/proc/self/exe").string();
  int ranks = arguments.ranks;
  fs::path run;
  std::vector<HostShare> hosts;
  for (int restart = 1;; ++restart) {
    set_job_start(start);
    JobEnd end = run_launcher(launch_command(ranks, words,
                                             {.variables = forwarded_variables(),
                                              .hosts = hosts,
                                              .session_folder = folders.session.path(),
                                              .reads_input = arguments.verb == Verb::predict &&
                                                             std::ranges::count(arguments.files, "-") > 0}),
                              folders);
    // A job that failed before it had a run directory resumes that of the job before.
    if (end.reports.run.empty()) end.reports.run = run;
    run = end.reports.run;
    std::string loss;
    try {
      const int code = exit_code(end);
      if (code != static_cast<int>(ExitCode::lost) || restart > arguments.restarts) return code;
    } catch (const Error& error) {
      if (error.code() != ExitCode::lost || restart > arguments.restarts) throw;
      loss = error.diagnostics().front().what + ": ";
    }
    ranks = ranks_to_resume_with(arguments, ranks, end.reports);
    if (!end.reports.hosts.empty()) hosts = end.reports.hosts;
    set_restart(run);
    // A signal may arrive while no launcher runs.
    if (stop_signal() != 0) return stopped_unsaved(run);
    print_message(fmt::format("warning: {}restart {} of {}, with {}{}\n", loss, restart, arguments.restarts,
                              counted(ranks, "process", "es"), hosts_text(hosts)));
  }
}

bool is_launched() { return std::getenv(kLaunchedVariable) != nullptr; }

PrivateFolder join_shared_memory_folder() {
  if (!is_launched()) return {};
  forget_launcher_variables();
  const char* path = std::getenv(kSharedMemoryVariable);
  if (!path) return {};
  PrivateFolder folder = PrivateFolder::join(path);
  if (!folder.path().empty()) use_shared_memory_folder(folder.path());
  return folder;
}

fs::path snapshot_folder() {
  const char* path = is_launched() ? std::getenv(kSharedMemoryVariable) : nullptr;
  std::error_code ignored;
  if (!path || !fs::is_directory(path, ignored)) return {};
  return fs::path(path) / "snapshots";
}

}  // namespace trainer
