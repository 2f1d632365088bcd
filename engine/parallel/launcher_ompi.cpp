#include <algorithm>
#include <array>
#include <cstdlib>

#include "engine/parallel/launcher.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

void prepare_mpi_environment() {
  constexpr int kKeep = 0;  // a user's own value stays
  // mpirun's banner after MPI_Abort says nothing that the failing rank has not said.
  setenv("OMPI_MCA_orte_execute_quiet", "1", kKeep);
  // Copies through shared memory are faster than the kernel's (measured), and containers often forbid those.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", kKeep);
}

bool mpi_yields() { return true; }

bool launcher_keeps_codes() { return true; }

bool binding_was_chosen() {
  // What mpirun makes of --bind-to, --map-by, --cpu-set and --rankfile. It binds by itself when nobody asked;
  // other launchers bind only when told to.
  constexpr std::array wishes{"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
                              "OMPI_MCA_hwloc_base_cpu_set", "OMPI_MCA_orte_rankfile"};
  const bool asked = std::ranges::any_of(wishes, [](const char* wish) { return std::getenv(wish); });
  return (asked || !std::getenv("OMPI_COMM_WORLD_SIZE")) && bound_below_parent();
}

LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const std::vector<std::string>& variables, const std::vector<HostShare>& hosts) {
  LaunchCommand command{
      .arguments = {TRAINER_MPIRUN, "--oversubscribe", "--stdin", "none", "-n", std::to_string(ranks)},
      .environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                      {"OMPI_MCA_orte_execute_quiet", "1"},
                      // A host that is cut off is given up after 25 s, not after 8 minutes.
                      {"OMPI_MCA_oob_tcp_keepalive_time", "10"},
                      {"OMPI_MCA_oob_tcp_keepalive_intvl", "5"},
                      {"OMPI_MCA_oob_tcp_keepalive_probes", "3"}}};
  for (const std::string& variable : variables)
    command.arguments.insert(command.arguments.end(), {"-x", variable});
  if (!hosts.empty()) command.arguments.insert(command.arguments.end(), {"--host", list_of(hosts)});
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace trainer
