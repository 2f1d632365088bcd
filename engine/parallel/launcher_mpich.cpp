#include "engine/parallel/launcher.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

// MPICH needs no settings from us.
void prepare_mpi_environment() {}

bool mpi_yields() { return false; }

bool binding_was_chosen() { return bound_below_parent(); }

LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments) {
  LaunchCommand command{.arguments = {TRAINER_MPIRUN, "-n", std::to_string(ranks)}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace trainer
