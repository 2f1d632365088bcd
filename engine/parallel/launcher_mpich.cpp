#include <cstdlib>

#include "engine/parallel/launcher.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

void prepare_mpi_environment() {
  constexpr int kKeep = 0;  // a user's own value stays
  // What MPI_Abort prints says nothing that the failing rank has not said.
  setenv("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1", kKeep);
}

bool binding_was_chosen() { return bound_below_parent(); }

LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments) {
  LaunchCommand command{.arguments = {TRAINER_MPIRUN, "-n", std::to_string(ranks)}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace trainer
