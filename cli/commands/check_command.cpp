#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/columns.h"
#include "cli/reports/header.h"
#include "cli/reports/weights_table.h"
#include "cli/terminal/text.h"
#include "engine/core/escape.h"
#include "models/checkpoints/imported_weights.h"
#include "models/runs/gradient_check.h"
#include "models/training/likely_mistakes.h"
#include "models/training/program_scores.h"

namespace trainer {
namespace {

/// The files of each config.
std::vector<std::vector<std::string>> configs_of(const Arguments& arguments) {
  if (arguments.merge) return {arguments.files};
  std::vector<std::vector<std::string>> configs;
  for (const std::string& file : arguments.files) configs.push_back({file});
  return configs;
}

/// The command line's overrides, and those that leave a few samples for an update.
std::vector<std::string> small_batch(const Job& job, const std::vector<std::string>& files) {
  constexpr std::int64_t kSamples = 4;
  const ConfigTree tree(config_source(files, job.arguments.overrides), run_settings());
  const auto batch = tree.root().at("train").get<std::int64_t>("batch");
  std::vector<std::string> overrides = job.arguments.overrides;
  overrides.push_back(fmt::format("train.batch={}", std::min(batch, kSamples)));
  for (const char* plain : {"train.steps=5", "train.accumulate=1", "train.exact=false", "train.local=~",
                            "train.compression=~", "train.crosscheck=~"})
    overrides.emplace_back(plain);
  return overrides;
}

/// The table of --gradients; sets `are_right` to false if one is wrong.
std::string gradients_text(const Job& job, const std::vector<std::string>& files, bool& are_right) {
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  const OpenRun run = open_run(config_source(files, small_batch(job, files)), mesh, pool);
  load_samples(*run.session);
  std::vector<std::vector<std::string>> rows{
      {"layer", "parameter", "elements", "gradient", "worst error", "decided", ""}};
  for (const CheckedGradient& one : check_gradients(run.config.root(), *run.session)) {
    are_right = are_right && one.is_right();
    rows.push_back({one.layer, one.parameter, grouped(one.elements), short_number(one.norm),
                    one.decided > 0 ? fmt::format("{:.4f}", one.worst_error) : "",
                    fmt::format("{} of {}", one.decided, CheckedGradient::kDirections),
                    !one.follows_loss  ? "contrastive"
                    : one.decided == 0 ? "undecided"
                    : one.is_right()   ? "ok"
                                       : "WRONG"});
  }
  return table(rows, 2);
}

}  // namespace

int check_command(const Job& job) {
  bool are_right = true;
  std::string fine, warnings;
  // Mistakes in one file must not hide those in the next.
  run_collectively(job.world, [&] {
    std::vector<Diagnostic> mistakes;
    ExitCode code = ExitCode::ok;
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(1);
    for (const std::vector<std::string>& files : configs_of(job.arguments)) {
      try {
        const OpenRun run = open_run(config_source(files, job.arguments.overrides), mesh, pool);
        ProgramScores::check(*run.session);
        std::string weights;
        if (const Config model = run.config.root().at("model"); model.has("weights")) {
          const WeightSource source = weight_source(model.at("weights"));
          weights = weights_table(source.file, match_weights(source, run.session->network()));
        }
        fine += escaped(fmt::format("{}", fmt::join(files, " "))) + ": ok" +
                (run.session->data().notice.empty() ? "" : " (" + run.session->data().notice + ")") + "\n";
        for (const Diagnostic& mistake : likely_mistakes(run.config.root(), *run.session))
          warnings += (warnings.empty() ? "" : "\n") + warning_text(mistake) + "\n";
        if (const InputForm& form = run.session->data().form; !form.columns.empty())
          fine += data_text(run.session->data()) + "\n" + columns_table(form);
        fine += weights;
        if (job.arguments.gradients) fine += gradients_text(job, files, are_right);
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
  return are_right ? 0 : static_cast<int>(ExitCode::failure);
}

}  // namespace trainer
