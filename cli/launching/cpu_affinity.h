#pragma once

#include <string>

#include "engine/parallel/communicator.h"
#include "engine/system/cores.h"

namespace trainer {

/// This rank's cores and threads, and facts that are equal on all ranks.
struct CpuAffinity {
  Placement placement;  ///< threads and oversubscribed are the same on every rank
  int hosts = 1;
  int local_ranks = 1, cores = 1;  ///< of this rank's host: its ranks, and the cores for all of them
  std::string warning;             ///< for the user, on rank 0; empty otherwise
};

/// Assigns cores to each rank, and the same number of threads to all ranks. `threads`: of --threads; 0: not
/// given. Restricts the calling thread to its cores. Collective.
CpuAffinity set_cpu_affinity(Communicator& world, int threads);

/// How many of a rank's threads are workers: `workers` of --workers, or all if it is 0. Error(usage) if they
/// are more than the threads.
int workers_of(int workers, int threads);
/// "2 threads", or "2 threads (1 worker)" where some are no workers.
std::string threads_text(int threads, int workers);

}  // namespace trainer
