#include "cli/commands.h"
#include "cli/find_run.h"
#include "cli/report.h"
#include "cli/together.h"

namespace trainer {

void report_command(const Job& job) {
  std::string path;
  together(job.world, [&] {
    if (job.world.rank() != 0) return;
    const std::filesystem::path run = find_run(job.arguments.files.front()).run;
    write_report(run);
    path = (run / "report.html").string();
  });
  job.print(path + "\n");
}

}  // namespace trainer
