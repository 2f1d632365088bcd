#pragma once

#include <string>
#include <vector>

namespace trainer {

/// The cores this process may run on, by number (sched_getaffinity).
std::vector<int> usable_cores();

/// The cores of the process that started this one: what a launcher that binds what it starts may use itself.
/// usable_cores() where those are all among this one's.
std::vector<int> host_cores();

/// On how many of these a cgroup's CPU quota lets its processes compute at once; at least 1.
int granted_cores(const std::vector<int>& cores);

/// Restricts the calling thread, and threads it starts later, to `cores`.
void run_on(const std::vector<int>& cores);

/// "AMD EPYC 9575F" from /proc/cpuinfo; "unknown" where that does not exist.
std::string cpu_name();

/// What was chosen for this process, for the header and `trainer info`.
struct Placement {
  std::vector<int> cores;  ///< the cores this rank runs on
  int threads = 1;         ///< workers of this rank
  bool crowded = false;    ///< ranks x threads on this host exceed its cores
  std::string reason;      ///< "default", "--threads", "OMP_NUM_THREADS", "bound by the launcher"
};

/// What a rank knows of its host, and what the user asked for.
struct PlacementRequest {
  std::vector<int> cores;  ///< what the host offers all its ranks (the widened mask, unless `bound`)
  int granted = 0;         ///< so many of them at once; 0: all
  int local_rank = 0;      ///< position of this rank among the ranks of its host
  int local_ranks = 1;     ///< ranks on this host
  int threads = 0;         ///< --threads or OMP_NUM_THREADS; 0: cores / ranks, at least 1
  bool bound = false;      ///< the user chose a binding: keep `cores` as they are for this rank alone
  std::string reason = "default";
};

/// Ranks of a host take disjoint consecutive cores; where there are more ranks than cores, each takes the
/// cores that its share of them touches; where a quota grants fewer than there are, the system chooses. A
/// pure function, so that it can be tested without a large machine.
Placement place(const PlacementRequest& request);

}  // namespace trainer
