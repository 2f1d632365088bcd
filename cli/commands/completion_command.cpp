#include "cli/commands/commands.h"
#include "cli/terminal/command_flags.h"
#include "cli/terminal/completion.h"
#include "cli/terminal/version.h"
#include "engine/config/key_paths.h"
#include "models/training/settings.h"

namespace trainer {

void completion_command(const Job& job) {
  Arguments unused;
  const CommandFlags flags(unused);
  const std::string& shell = job.arguments.shell;
  job.print_as_it_is(shell == "man" ? man_page(flags.app(), version())
                                    : completion_script(shell, flags.app(), key_paths(run_settings())));
}

}  // namespace trainer
