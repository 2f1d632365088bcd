#pragma once

#include <string>

#include "engine/core/cores.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// Where the ranks run: this rank's cores and threads, and what is alike on all ranks.
struct Seats {
  Placement placement;  ///< threads and crowded are the same on every rank
  int hosts = 1;
  std::string warning;  ///< for the user, on rank 0; empty otherwise
};

/// Gives each rank its cores and all ranks the same number of threads. `threads`: of --threads, 0 when not
/// given. Collective; restricts the calling thread to its cores.
Seats take_seats(Communicator& world, int threads);

}  // namespace trainer
