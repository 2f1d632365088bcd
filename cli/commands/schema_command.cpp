#include "cli/commands/commands.h"
#include "engine/config/config_tree.h"
#include "models/training/settings.h"

namespace trainer {

void schema_command(const Job& job) {
  job.print_as_it_is(job.arguments.keys ? key_reference(run_settings()) : json_schema(run_settings()));
}

}  // namespace trainer
