#include "cli/commands/commands.h"
#include "cli/launching/collective_errors.h"
#include "cli/templates/huggingface_config.h"
#include "cli/templates/new_config.h"

namespace trainer {

void new_command(const Job& job) {
  std::string yaml;
  run_collectively(job.world, [&] {
    const std::string data = job.arguments.files.empty() ? "" : job.arguments.files.front();
    const std::string &kind = job.arguments.kind, &model = job.arguments.model;
    if (!model.empty() && kind != "gpt")
      throw Error(ExitCode::usage, "--from is for `trainer new gpt`", "trainer new gpt TEXT --from " + model);
    yaml = model.empty() ? new_config(kind, data) : huggingface_config(model, data);
  });
  job.print_as_it_is(yaml);
}

}  // namespace trainer
