#pragma once

#include <memory>
#include <string>

#include "engine/parallel/communicator.h"

namespace trainer {

/// The ranks a launcher started (found by its environment variables: Open MPI, MPICH/PMI, Slurm), or solo()
/// when none did: MPI_Init alone costs 0.3 s and forks a daemon. Errors: Error(ranks) when a launcher of
/// several processes does not belong to the MPI this program was built with (each process would be rank 0 of
/// 1). MPI is finalised when the returned object is destroyed.
std::unique_ptr<Communicator> start_world();

/// "Open MPI 4.1.4", "MPICH 4.0.2".
std::string mpi_version();

/// True when the user had this process bound to fewer cores than its launcher has, so that the mask must be
/// left as it is. False where Open MPI bound it unasked, and where nothing is bound.
bool binding_was_chosen();

/// The command that starts `ranks` processes of `arguments` here, for `trainer -n`; its environment variables
/// included.
struct LaunchCommand {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};
/// So many ranks on a host.
struct HostShare {
  std::string host;
  int ranks = 1;
};
/// `variables` of this program's environment are there on all hosts. On `hosts`, or where the launcher
/// chooses.
LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& variables = {},
                             const std::vector<HostShare>& hosts = {});
/// Whether that launcher ends with the code of its ranks also when it was sent a signal.
bool launcher_keeps_codes();

}  // namespace trainer
