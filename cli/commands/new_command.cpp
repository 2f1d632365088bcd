#include "cli/commands/commands.h"
#include "cli/launching/collective_errors.h"
#include "cli/templates/new_config.h"

namespace trainer {

void new_command(const Job& job) {
  std::string yaml;
  run_collectively(job.world, [&] {
    yaml = new_config(job.arguments.kind, job.arguments.files.empty() ? "" : job.arguments.files.front());
  });
  job.print_as_it_is(yaml);
}

}  // namespace trainer
