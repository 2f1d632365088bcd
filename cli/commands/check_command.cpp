#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/columns.h"
#include "cli/reports/header.h"
#include "cli/reports/weights_table.h"
#include "cli/terminal/output.h"
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
  for (const char* plain :
       {"train.steps=5", "train.accumulate=1", "train.exact=false", "train.local=~", "train.async=~",
        "train.compression=~", "train.crosscheck=~", "train.chain=false", "train.precision=float32"})
    overrides.emplace_back(plain);
  return overrides;
}

/// Prints the table of --gradients, a line as soon as its parameter is compared. False if one is wrong.
bool print_gradients(const Job& job, const std::vector<std::string>& files) {
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  const OpenRun run = open_run(config_source(files, small_batch(job, files)), mesh, pool);
  load_samples(*run.session);
  // All lines have the widths of the longest names and the largest parameter.
  std::size_t layer = 5, name = 9, elements = 8;
  for (const Parameter& parameter : run.session->network().plan().parameters()) {
    layer = std::max(layer, escaped(parameter.module()).size());
    name = std::max(name, parameter.name_in_module().size());
    elements = std::max(elements, grouped(parameter.shape.size()).size());
  }
  const auto print = [&](const auto&... cells) {
    job.print(fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>8}  {:>11}  {:>7}  {}\n", cells...));
    flush_output();
  };
  print("layer", layer, "parameter", name, "elements", elements, "gradient", "worst error", "decided",
        "result");
  bool are_right = true;
  check_gradients(run.config.root(), *run.session, [&](const CheckedGradient& one) {
    are_right = are_right && one.is_right();
    print(escaped(one.layer), layer, one.parameter, name, grouped(one.elements), elements,
          short_number(one.norm), one.decided > 0 ? fmt::format("{:.4f}", one.worst_error) : "",
          fmt::format("{} of {}", one.decided, CheckedGradient::kDirections),
          !one.follows_loss  ? "contrastive"
          : one.decided == 0 ? "undecided"
          : one.is_right()   ? "ok"
                             : "WRONG");
  });
  return are_right;
}

}  // namespace

int check_command(const Job& job) {
  bool are_right = true;
  run_collectively(job.world, [&] {
    std::string warnings;
    // Mistakes in one file must not hide those in the next.
    std::vector<Diagnostic> mistakes;
    ExitCode code = ExitCode::ok;
    const auto alone = solo();
    Mesh mesh(*alone, {});
    ThreadPool pool(1);
    for (const std::vector<std::string>& files : configs_of(job.arguments)) {
      try {
        const OpenRun run = open_run(config_source(files, job.arguments.overrides), mesh, pool);
        if (ProgramScores::are_needed(*run.session)) ProgramScores::check(*run.session);
        std::string weights;
        if (const Config model = run.config.root().at("model"); model.has("weights")) {
          const WeightSource source = weight_source(model.at("weights"));
          weights = weights_table(source.file, match_weights(source, run.session->network()));
        }
        std::string fine =
            escaped(fmt::format("{}", fmt::join(files, " "))) + ": ok" +
            (run.session->data().notice.empty() ? "" : " (" + run.session->data().notice + ")") + "\n";
        for (const Diagnostic& mistake : likely_mistakes(run.config.root(), *run.session))
          warnings += (warnings.empty() ? "" : "\n") + warning_text(mistake) + "\n";
        const Data& data = run.session->data();
        fine += data_text(data) + "\n";
        if (!data.form.columns.empty()) fine += columns_table(data.form);
        job.print(fine + weights);
        if (job.arguments.gradients) are_right = print_gradients(job, files) && are_right;
      } catch (const Error& error) {
        if (code == ExitCode::ok) code = error.code();
        mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
    job.warn(warnings);
    if (code != ExitCode::ok) throw Error(code, mistakes);
  });
  return are_right ? 0 : static_cast<int>(ExitCode::failure);
}

}  // namespace trainer
