#include "cli/launching/launcher_watch.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "cli/launching/launcher_signals.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kPause = 500ms;
/// Launchers take a second or two to end after their processes.
constexpr auto kToEnd = 10s;
/// Other hosts may be slow to answer.
constexpr auto kToStart = 120s;

bool is_alive(const std::string& process) {
  std::ifstream stat("/proc/" + process + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  // The name in parentheses may hold anything.
  const std::size_t state = line.rfind(") ");
  return state != std::string::npos && line[state + 2] != 'Z';
}

enum class Children { some, none, unknown };

/// Of all threads of a process; unknown where the system does not tell.
Children children_of(pid_t process) {
  std::error_code error;
  bool known = false;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", error)) {
    std::ifstream list(task.path() / "children");
    known |= list.is_open();
    for (std::string child; list >> child;)
      if (is_alive(child)) return Children::some;
  }
  return known ? Children::none : Children::unknown;
}

}  // namespace

LauncherWatch::LauncherWatch(pid_t launcher)
    : launcher_(launcher), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void LauncherWatch::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any alarm;
  std::unique_lock lock(mutex);
  std::chrono::milliseconds left = kToStart;
  while (!alarm.wait_for(lock, stop, kPause, [&] { return stop.stop_requested(); })) {
    hand_on_stop();
    left = children_of(launcher_) == Children::none ? left - kPause : kToEnd;
    if (left > 0ms) continue;
    has_killed_ = true;
    // The launcher leads a group of its own.
    ::kill(-launcher_, SIGKILL);
    return;
  }
}

}  // namespace trainer
