#pragma once

#include <mpi.h>

#include "engine/parallel/mpi_exchange.h"
#include "tests/support/mpi_main.h"

namespace trainer {

/// All ranks, as if each were on a host of its own or all on one.
struct AllRanks {
  explicit AllRanks(bool between_hosts)
      : group{.handle = MPI_COMM_NULL,
              .progress = progress,
              .heartbeat = test_world().heartbeat(),
              .between_hosts = between_hosts,
              .rank = test_world().rank()} {
    MPI_Comm_dup(MPI_COMM_WORLD, &group.handle);
    // Ranks of the test's world may have another order.
    MPI_Comm_rank(group.handle, &group.rank);
    for (int rank = 0; rank < test_world().size(); ++rank) group.world_ranks.push_back(rank);
  }
  ~AllRanks() { MPI_Comm_free(&group.handle); }

  MpiProgress progress;
  MpiGroup group;
};

}  // namespace trainer
