#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

// MPICH needs no settings from this program.
void prepare_mpi_environment() {}

bool mpi_yields() { return false; }

bool binding_was_chosen() { return bound_below_parent(); }

}  // namespace trainer
