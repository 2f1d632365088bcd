#pragma once

#include <string>
#include <vector>

#include "engine/system/topology.h"

namespace trainer {

/// The cores this process may run on (sched_getaffinity).
std::vector<Core> usable_cores();

/// The cores of the parent process: a launcher that binds its ranks may use more cores than they do.
/// usable_cores() if these contain all of the parent's.
std::vector<Core> host_cores();

/// The number of these cores that a cgroup's CPU quota grants at the same time; at least 1.
int granted_cores(const std::vector<Core>& cores);

/// Restricts the calling thread, and threads it starts later, to `cores`.
void run_on(const std::vector<Core>& cores);

/// "AMD EPYC 9575F" from /proc/cpuinfo; "unknown" where that does not exist.
std::string cpu_name();

/// The chosen cores and threads of this process, for the header and `trainer info`.
struct Placement {
  std::vector<Core> cores;      ///< the cores this rank runs on
  int threads = 1;              ///< workers of this rank
  bool oversubscribed = false;  ///< ranks x threads on this host exceed its cores
  std::string reason;           ///< "default", "--threads", "OMP_NUM_THREADS", "bound by the launcher"
};

/// The facts of a rank's host, and the user's request.
struct PlacementRequest {
  std::vector<Core> cores;  ///< what the host offers all its ranks (the widened mask, unless `bound`)
  int granted = 0;          ///< the number that may be used at the same time; 0: all
  int local_rank = 0;       ///< position of this rank among the ranks of its host
  int local_ranks = 1;      ///< ranks on this host
  int threads = 0;          ///< --threads or OMP_NUM_THREADS; 0: cores / ranks, at least 1
  bool bound = false;       ///< the user chose a binding: keep `cores` as they are for this rank alone
  std::string reason = "default";
};

/// Ranks of a host take disjoint consecutive cores. With more ranks than cores, each takes the cores that its
/// share touches. With a quota below the number of cores, the system chooses. A pure function, so that tests
/// need no large machine.
Placement place(const PlacementRequest& request);

/// The cores of a rank in one NUMA domain, where a worker stays near the memory that it touches first: the
/// domain with the most of them if that has one for each worker, else the domain of the worker's share.
std::vector<Core> cores_of_worker(const Placement& placement, int worker);

}  // namespace trainer
