#include "cli/launching/launcher_watch.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <vector>

#include "cli/launching/launcher_signals.h"
#include "cli/launching/rank_messages.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

fs::path folder_of(const std::string& process) { return fs::path("/proc") / process; }

bool is_alive(const std::string& process) {
  std::ifstream stat(folder_of(process) / "stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  // The name in parentheses may hold anything.
  const std::size_t state = line.rfind(") ");
  return state != std::string::npos && line[state + 2] != 'Z';
}

/// The living children of all threads of a process.
std::vector<std::string> children_of(const std::string& process) {
  std::error_code error;
  std::vector<std::string> children;
  for (const auto& task : fs::directory_iterator(folder_of(process) / "task", error)) {
    std::ifstream list(task.path() / "children");
    for (std::string child; list >> child;)
      if (is_alive(child)) children.push_back(child);
  }
  return children;
}

/// Whether a process below this one runs this program.
bool has_rank_below(const std::string& process) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return std::ranges::any_of(children_of(process), [&](const std::string& child) {
    return fs::read_symlink(folder_of(child) / "exe", error) == program || has_rank_below(child);
  });
}

}  // namespace

bool RankSigns::note(const std::string& line) {
  ++count_;
  if (is_survivor_report(line)) is_ending_ = true;
  return is_heartbeat(line);
}

LauncherWatch::LauncherWatch(pid_t launcher, const RankSigns& signs, const LauncherOutput& output,
                             Patience patience)
    : launcher_(launcher),
      signs_(signs),
      output_(output),
      patience_(patience),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void LauncherWatch::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any alarm;
  std::unique_lock lock(mutex);
  const Clock::duration pause =
      std::min({patience_.to_start, patience_.silent, patience_.to_end, std::chrono::milliseconds(5000)}) /
      10;
  const std::string launcher = std::to_string(launcher_);
  bool has_seen_local = false, has_begun = false;
  int signs_seen = 0;
  Clock::duration quiet{0};
  Clock::time_point last_look = Clock::now();
  while (!alarm.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    forward_stop_signals();
    // A job that was stopped for a while, this program with it, was not quiet all that time.
    const Clock::duration passed = std::min(Clock::now() - last_look, 2 * pause);
    last_look = Clock::now();
    const int signs = signs_.count();
    const bool has_local = has_rank_below(launcher);
    has_seen_local |= has_local;
    has_begun |= has_local || signs > 0;
    const bool is_starting = !has_begun && !children_of(launcher).empty();
    const bool is_quiet = !has_local && !is_starting && signs == signs_seen;
    signs_seen = signs;
    // Lines wait in the pipes while nothing takes them.
    if (output_.is_blocked()) continue;
    quiet = is_quiet ? quiet + passed : Clock::duration(0);
    const auto limit = !has_begun                             ? patience_.to_start
                       : signs_.is_ending() || has_seen_local ? patience_.to_end
                                                              : patience_.silent;
    if (quiet < limit) continue;
    has_killed_ = true;
    // The launcher leads a group of its own.
    ::kill(-launcher_, SIGKILL);
    return;
  }
}

}  // namespace trainer
