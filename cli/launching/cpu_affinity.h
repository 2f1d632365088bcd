#pragma once

#include <string>

#include "engine/parallel/communicator.h"
#include "engine/system/cores.h"

namespace trainer {

/// Where the ranks run: this rank's cores and threads, and what is alike on all ranks.
struct CpuAffinity {
  Placement placement;  ///< threads and crowded are the same on every rank
  int hosts = 1;
  std::string warning;  ///< for the user, on rank 0; empty otherwise
};

/// Gives each rank its cores and all ranks the same number of threads. `threads`: of --threads, 0 when not
/// given. Collective; restricts the calling thread to its cores.
CpuAffinity set_cpu_affinity(Communicator& world, int threads);

}  // namespace trainer
