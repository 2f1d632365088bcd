#pragma once

#include <string>
#include <vector>

#include "engine/parallel/mpi_world.h"

namespace trainer {

/// What a launcher's environment variables say about this process.
struct Launched {
  int rank = 0;
  int ranks = 0;  ///< 0: no launcher started this process
};
Launched launched_by_environment();

/// Settings of the MPI library in use that the user has not made; before MPI_Init.
void prepare_mpi_environment();

/// "a:2,b:1"
std::string list_of(const std::vector<HostShare>& hosts);

/// Whether this MPI gives up its core while a call of it waits, when there are more ranks than cores.
bool mpi_yields();

/// True when this process may use fewer cores than the one that started it.
bool bound_below_parent();

}  // namespace trainer
