#include "cli/launching/restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "cli/launching/launcher_output.h"
#include "engine/core/escape.h"
#include "engine/system/exit_reason.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

constexpr const char* kRestart = "TRAINER_RESTART";
constexpr const char* kStart = "TRAINER_START";
constexpr const char* kRun = "run ";
constexpr const char* kLeft = "left ";
constexpr const char* kStopped = "stopped";
constexpr const char* kFinished = "finished";

using Clock = std::chrono::steady_clock;

/// What the launcher calls this host.
std::string name_for_launcher() {
  const char* name = std::getenv("PMIX_HOSTNAME");
  return name && *name ? name : host_name();
}

}  // namespace

void tell_run(const std::filesystem::path& directory) {
  fmt::print(stderr, "{}", LauncherOutput::private_line(kRun + escaped(directory.string())));
}

void tell_stopped() { fmt::print(stderr, "{}", LauncherOutput::private_line(kStopped)); }

void tell_finished() { fmt::print(stderr, "{}", LauncherOutput::private_line(kFinished)); }

void prepare_to_be_left(int rank, int hosts) {
  prepare_exit_reason(
      LauncherOutput::private_line(fmt::format("{}{} {} {}", kLeft, rank, hosts, name_for_launcher())));
}

Told told_by(const std::vector<std::string>& lines) {
  Told told;
  int all_hosts = 1;
  std::map<int, std::string> left;
  for (const std::string& line : lines) {
    if (line.starts_with(kRun)) told.run = line.substr(std::string(kRun).size());
    told.stopped |= line == kStopped;
    told.finished |= line == kFinished;
    if (!line.starts_with(kLeft)) continue;
    std::istringstream words(line.substr(std::string(kLeft).size()));
    int rank = 0, hosts = 0;
    std::string host;
    if (!(words >> rank >> hosts >> host)) continue;
    left[rank] = host;
    all_hosts = std::max(all_hosts, hosts);
  }
  told.ranks = static_cast<int>(left.size());
  for (const auto& [rank, host] : left) {
    if (all_hosts == 1) break;
    const auto share = std::ranges::find(told.hosts, host, &HostShare::host);
    if (share == told.hosts.end())
      told.hosts.push_back({.host = host, .ranks = 1});
    else
      ++share->ranks;
  }
  return told;
}

int ranks_to_go_on(const Arguments& arguments, int ranks, const Told& told) {
  // All may say that they are left, and one be ill.
  const int left = std::max(1, told.ranks > 0 && told.ranks < ranks ? told.ranks : ranks - 1);
  if (!arguments.mesh || left < arguments.mesh->model) return left;
  return left / arguments.mesh->model * arguments.mesh->model;
}

std::vector<std::string> restart_variables() {
  std::vector<std::string> names;
  for (const char* name : {kRestart, kStart})
    if (std::getenv(name)) names.emplace_back(name);
  return names;
}

void restart_from(const std::filesystem::path& run) { ::setenv(kRestart, run.c_str(), 1); }

void note_start(Clock::time_point start) {
  const auto began = std::chrono::system_clock::now() - (Clock::now() - start);
  ::setenv(kStart, std::to_string(std::chrono::system_clock::to_time_t(began)).c_str(), 1);
}

Clock::time_point start_of_job(Clock::time_point own_start) {
  const char* began = std::getenv(kStart);
  if (!began) return own_start;
  const auto age =
      std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(std::atoll(began));
  return std::min(own_start, Clock::now() - std::chrono::duration_cast<Clock::duration>(age));
}

bool is_restart() {
  const char* run = std::getenv(kRestart);
  return run && *run;
}

void apply_restart(Arguments& arguments, int ranks) {
  const char* run = std::getenv(kRestart);
  if (!run || arguments.verb != Verb::train) return;
  if (arguments.mesh) {
    const int model = ranks % arguments.mesh->model == 0 ? arguments.mesh->model : ranks;
    arguments.mesh = MeshShape{.data = ranks / model, .model = model};
  }
  // Without a run directory, nothing was begun.
  if (!*run) return;
  arguments.files = {run};
  arguments.initial_weights.clear();
  arguments.out.clear();
  arguments.name.clear();
}

}  // namespace trainer
