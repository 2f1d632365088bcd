#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/launching/collective_errors.h"
#include "models/training/settings.h"

namespace trainer {

void config_command(const Job& job) {
  std::string yaml;
  std::vector<std::string> notes;
  run_collectively(job.world, [&] {
    const ConfigTree tree(config_source(job.arguments.files, job.arguments.overrides), run_settings());
    yaml = job.arguments.minimal ? tree.abbreviated_yaml() : tree.resolved_yaml();
    notes = tree.notes();
  });
  for (const std::string& note : notes) job.warn("note: " + note + "\n");
  job.print_as_it_is(yaml);
}

}  // namespace trainer
