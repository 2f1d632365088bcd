#pragma once

#include <memory>
#include <string>

#include "engine/parallel/communicator.h"

namespace trainer {

/// The ranks that a launcher started (found by its environment variables: Open MPI, MPICH/PMI, Slurm), or
/// solo() without a launcher: MPI_Init alone costs 0.3 s and forks a daemon. Error(ranks) when the launcher
/// does not belong to the MPI of this program's build, so that each process would be rank 0 of 1. The
/// destructor of the returned object finalises MPI.
std::unique_ptr<Communicator> start_world();

/// "Open MPI 4.1.4", "MPICH 4.0.2".
std::string mpi_version();

/// True if the user had this process bound to fewer cores than its launcher has: the affinity mask then stays
/// as it is. False where Open MPI bound it by default, and where nothing is bound.
bool binding_was_chosen();

}  // namespace trainer
