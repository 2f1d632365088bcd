#pragma once

namespace trainer {

/// What the environment variables of a launcher report about this process.
struct Launched {
  int rank = 0;
  int ranks = 0;  ///< 0: no launcher started this process
};
Launched launched_by_environment();

/// Settings of the MPI library in use that the user has not made; before MPI_Init.
void prepare_mpi_environment();

/// Whether this MPI gives up its core while a call of it waits, when there are more ranks than cores.
bool mpi_yields();

/// True when this process may use fewer cores than the one that started it.
bool bound_below_parent();

}  // namespace trainer
