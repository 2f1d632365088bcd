#include "cli/launching/launch_command.h"

namespace trainer {

// Its launcher passes all variables on, and keeps no files.
LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const LaunchOptions& options) {
  LaunchCommand command{.arguments = {TRAINER_MPIRUN, "-n", std::to_string(ranks)}};
  // Its rank 0 gets standard input in any case.
  if (!options.hosts.empty())
    command.arguments.insert(command.arguments.end(), {"-hosts", list_of(options.hosts)});
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

// After a signal it may return 0 although its ranks returned another code.
bool launcher_keeps_codes() { return false; }

// MPICH removes its files as soon as all ranks have opened them.
void use_shared_memory_folder(const std::filesystem::path& /*folder*/) {}

void forget_launcher_variables() {}

}  // namespace trainer
