#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace trainer {

/// So many ranks on a host.
struct HostShare {
  std::string host;
  int ranks = 1;
};
/// "a:2,b:1"
std::string list_of(const std::vector<HostShare>& hosts);

/// A command of the MPI launcher, and the environment variables that it gets unless the user has set them.
struct LaunchCommand {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};

struct LaunchOptions {
  std::vector<std::string> variables = {};    ///< of this program's environment that all hosts get
  std::vector<HostShare> hosts = {};          ///< empty: the launcher chooses
  std::filesystem::path session_folder = {};  ///< for the launcher's own files; empty: the launcher chooses
  bool reads_input = false;                   ///< rank 0 gets standard input
};

/// The command that starts `ranks` processes of `arguments` with the MPI of this program's build.
LaunchCommand launch_command(int ranks, const std::vector<std::string>& arguments,
                             const LaunchOptions& options = {});

/// Whether that launcher returns the exit code of its ranks after a signal, too.
bool launcher_keeps_codes();

/// In a rank, before MPI begins: keeps the files behind its shared memory in `folder`, unless the user has
/// chosen another one.
void use_shared_memory_folder(const std::filesystem::path& folder);
/// In a rank, before MPI begins: removes the variables that are for the launcher alone.
void forget_launcher_variables();

}  // namespace trainer
