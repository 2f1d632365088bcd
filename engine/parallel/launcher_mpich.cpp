#include "engine/parallel/launcher.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

// MPICH needs no settings from us.
void prepare_mpi_environment() {}

bool mpi_yields() { return false; }

// After a signal it ends with 0 at times, whatever its ranks ended with.
bool launcher_keeps_codes() { return false; }

bool binding_was_chosen() { return bound_below_parent(); }

// Its launcher hands all variables on.
LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& /*variables*/,
                             const std::vector<HostShare>& hosts) {
  LaunchCommand command{.arguments = {TRAINER_MPIRUN, "-n", std::to_string(ranks)}};
  if (!hosts.empty()) command.arguments.insert(command.arguments.end(), {"-hosts", list_of(hosts)});
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace trainer
