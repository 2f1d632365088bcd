#include "cli/commands/commands.h"
#include "cli/commands/find_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/report.h"
#include "cli/reports/tensorboard.h"
#include "engine/core/escape.h"

namespace trainer {

void report_command(const Job& job) {
  std::string path;
  run_collectively(job.world, [&] {
    if (job.world.rank() != 0) return;
    const std::filesystem::path run = run_directory_of(job.arguments.files.front());
    path = (job.arguments.tensorboard ? write_tensorboard(run) : write_report(run)).string();
  });
  job.print(escaped(path) + "\n");
}

}  // namespace trainer
