#include "engine/system/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>

namespace trainer {
namespace {

/// Whole cores that the cgroup's quota grants; 0 when there is no limit.
int cgroup_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::stod(quota) / period));
}

/// Empty when the system does not report it.
cpu_set_t affinity_of(pid_t process) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(process, sizeof mask, &mask) != 0) CPU_ZERO(&mask);
  return mask;
}

std::vector<Core> cores_of(const cpu_set_t& mask) {
  static const std::vector<Core> machine = read_topology();
  std::vector<int> numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(number, &mask)) numbers.push_back(number);
  if (numbers.empty()) numbers.push_back(0);
  return cores_with(numbers, machine);
}

}  // namespace

std::vector<Core> usable_cores() { return cores_of(affinity_of(0)); }

std::vector<Core> host_cores() {
  const cpu_set_t mine = affinity_of(0), parents = affinity_of(getppid());
  cpu_set_t both;
  CPU_AND(&both, &mine, &parents);
  // A launcher may also bind outside of its own cores (Open MPI under taskset): then its own cores count.
  return cores_of(CPU_EQUAL(&both, &parents) ? mine : parents);
}

int granted_cores(const std::vector<Core>& cores) {
  const int all = static_cast<int>(cores.size()), quota = cgroup_quota();
  return quota > 0 ? std::min(quota, all) : all;
}

void run_on(const std::vector<Core>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const Core& core : cores)
    for (const int number : core.hardware_threads) CPU_SET(number, &mask);
  // A mask that the system refuses costs speed only, never results.
  sched_setaffinity(0, sizeof mask, &mask);
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

Placement place(const PlacementRequest& request) {
  const int all = static_cast<int>(request.cores.size());
  const int cores = request.granted > 0 ? request.granted : all;
  const int ranks = request.bound ? 1 : request.local_ranks;
  Placement placement{.reason = request.reason};
  placement.threads = request.threads > 0 ? request.threads : std::max(1, cores / ranks);
  placement.oversubscribed = placement.threads * ranks > cores;
  // Other jobs under a quota on this host would take the same numbers.
  if (request.bound || cores < all) {
    placement.cores = request.cores;
    return placement;
  }
  // With more ranks than cores, a rank whose share straddles two cores may use both. The others are bound to
  // one core, because the system would take longer than a step to spread them.
  const auto border = [&](int rank, int round_up) {
    return static_cast<int>((std::int64_t{cores} * rank + round_up) / ranks);
  };
  const int first = border(request.local_rank, 0);
  const int last = border(request.local_rank + 1, cores < ranks ? ranks - 1 : 0);
  placement.cores.assign(request.cores.begin() + first, request.cores.begin() + last);
  return placement;
}

std::vector<Core> cores_of_worker(const Placement& placement, int worker) {
  const std::vector<Core>& all = placement.cores;
  std::map<int, std::vector<Core>> domains;
  for (const Core& core : all) domains[core.domain].push_back(core);
  const auto& largest =
      std::ranges::max_element(domains, {}, [](const auto& domain) { return domain.second.size(); })->second;
  if (std::ssize(largest) >= placement.threads) return largest;
  const std::int64_t share = std::ssize(all) * worker / placement.threads;
  return domains.at(all[static_cast<std::size_t>(share)].domain);
}

}  // namespace trainer
