#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/columns.h"
#include "cli/reports/header.h"
#include "cli/reports/weights_table.h"
#include "engine/core/escape.h"
#include "models/checkpoints/imported_weights.h"
#include "models/training/likely_mistakes.h"

namespace trainer {

void check_command(const Job& job) {
  std::string fine, warnings;
  // Mistakes in one file must not hide those in the next.
  run_collectively(job.world, [&] {
    std::vector<Diagnostic> mistakes;
    ExitCode code = ExitCode::ok;
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(1);
    for (const std::string& file : job.arguments.files) {
      try {
        const OpenRun run = open_run({.file = file, .overrides = job.arguments.overrides}, mesh, pool);
        std::string weights;
        if (const Config model = run.config.root().at("model"); model.has("weights")) {
          const WeightSource source = weight_source(model.at("weights"));
          weights = weights_table(source.file, match_weights(source, run.session->network().plan()));
        }
        fine += escaped(file) + ": ok" +
                (run.session->data().notice.empty() ? "" : " (" + run.session->data().notice + ")") + "\n";
        for (const Diagnostic& mistake : likely_mistakes(run.config.root(), *run.session))
          warnings += (warnings.empty() ? "" : "\n") + warning_text(mistake) + "\n";
        if (const InputForm& form = run.session->data().form; !form.columns.empty())
          fine += data_text(run.session->data()) + "\n" + columns_table(form);
        fine += weights;
      } catch (const Error& error) {
        if (code == ExitCode::ok) code = error.code();
        mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
    if (code == ExitCode::ok) return;
    job.print(fine);
    throw Error(code, mistakes);
  });
  job.print(fine);
  job.warn(warnings);
}

}  // namespace trainer
