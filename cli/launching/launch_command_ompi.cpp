#include <cstdlib>

#include "cli/launching/launch_command.h"

namespace trainer {
namespace {

constexpr const char* kSessionVariable = "OMPI_MCA_orte_local_tmpdir_base";

}  // namespace

LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const LaunchOptions& options) {
  LaunchCommand command{
      .arguments = {TRAINER_MPIRUN, "--oversubscribe", "--stdin", options.reads_input ? "0" : "none", "-n",
                    std::to_string(ranks)},
      .environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                      {"OMPI_MCA_orte_execute_quiet", "1"},
                      // The launcher gives up a silent host after 25 s; its default is 8 minutes.
                      {"OMPI_MCA_oob_tcp_keepalive_time", "10"},
                      {"OMPI_MCA_oob_tcp_keepalive_intvl", "5"},
                      {"OMPI_MCA_oob_tcp_keepalive_probes", "3"}}};
  // On this host only: no process creates or removes the folder on another one.
  if (!options.session_folder.empty() && !std::getenv("OMPI_MCA_orte_tmpdir_base"))
    command.environment.emplace_back(kSessionVariable, options.session_folder.string());
  for (const std::string& variable : options.variables)
    command.arguments.insert(command.arguments.end(), {"-x", variable});
  if (!options.hosts.empty())
    command.arguments.insert(command.arguments.end(), {"--host", list_of(options.hosts)});
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

bool launcher_keeps_codes() { return true; }

void use_shared_memory_folder(const std::filesystem::path& folder) {
  for (const char* variable : {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_osc_sm_backing_directory",
                               "OMPI_MCA_osc_rdma_backing_directory"})
    ::setenv(variable, folder.c_str(), 0);
}

void forget_launcher_variables() {
  // The launcher passes it on, and a rank refuses it beside the general one, which the launcher sets.
  ::unsetenv(kSessionVariable);
}

}  // namespace trainer
