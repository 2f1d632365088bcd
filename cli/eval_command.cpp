#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "cli/agreement.h"
#include "cli/commands.h"
#include "cli/find_run.h"
#include "cli/open_run.h"
#include "cli/text.h"
#include "cli/together.h"
#include "cli/workplace.h"
#include "models/training/checkpoint.h"
#include "models/training/evaluation.h"
#include "models/training/team.h"
#include "models/training/weights.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

struct Weights {
  fs::path config, weights;
};

/// `path`: a run directory, whose best weights count, or one of its checkpoints.
Weights find_weights(const fs::path& path) {
  const auto weights_in = [](const fs::path& directory) { return directory / "model.safetensors"; };
  const FoundRun found = find_run(path);
  const fs::path config = found.run / "config.yaml";
  if (!found.checkpoint.empty()) return {config, weights_in(found.checkpoint)};
  std::error_code ignored;
  for (const char* name : {"best", "last"})
    if (fs::exists(weights_in(path / "checkpoints" / name), ignored))
      return {config, weights_in(path / "checkpoints" / name)};
  throw Error(ExitCode::weights, fmt::format("{} has no checkpoint", path.string()),
              "train it: trainer " + shell_line({path.string()}));
}

const Dataset& split_of(const Data& data, const std::string& split) {
  const Dataset* chosen = split == "train"   ? data.train.get()
                          : split == "valid" ? data.validation.get()
                                             : data.test.get();
  if (!chosen)
    throw Error(ExitCode::usage, fmt::format("{} has no {} samples", data.name, split),
                split == "valid" ? "-s data.validation=0.1 keeps some of the training samples back"
                                 : "--split train");
  return *chosen;
}

/// Counts of samples: a row for each class that they are of, a column for each that was said.
std::string table_text(const std::string& name, const std::vector<double>& counts) {
  const auto classes = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(counts.size()))));
  std::vector<std::vector<std::string>> rows{{"class"}};
  for (std::size_t said = 0; said < classes; ++said) rows.front().push_back(fmt::format("said {}", said));
  for (std::size_t is = 0; is < classes; ++is) {
    rows.push_back({std::to_string(is)});
    for (std::size_t said = 0; said < classes; ++said)
      rows.back().push_back(grouped(std::llround(counts[is * classes + said])));
  }
  return fmt::format("\n{}\n{}", name, table(rows, 1));
}

std::string scores_text(const Scores& scores, const std::vector<MetricFacts>& metrics) {
  std::string text = fmt::format("loss {:.9g}\n", scores.loss);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    text += fmt::format("{} {}", metrics[i].name, metric_text(metrics[i], scores.metrics[i], 2));
    if (metrics[i].counts_samples)
      text += fmt::format(" ({} of {})",
                          grouped(std::llround(scores.metrics[i] * static_cast<double>(scores.samples))),
                          grouped(scores.samples));
    text += "\n";
  }
  for (std::size_t i = 0; i < scores.tables.size(); ++i)
    if (!scores.tables[i].empty()) text += table_text(metrics[i].table_name, scores.tables[i]);
  return text;
}

}  // namespace

void eval_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  Workplace work(job);

  Weights checkpoint;
  std::optional<OpenRun> run;
  std::vector<float> values;
  const Dataset* split = nullptr;
  together(job.world, [&] {
    checkpoint = find_weights(arguments.files.front());
    run.emplace(open_run({.file = checkpoint.config.string(), .overrides = arguments.overrides}, work.mesh,
                         work.pool));
    split = &split_of(run->session->data(), arguments.split);
    Network& network = run->session->network();
    values.resize(static_cast<std::size_t>(network.plan().parameter_end()));
    if (const fs::path place = checkpoint.weights.parent_path(); fs::exists(place / "state.json"))
      verify_checkpoint(place);
    load_weights(checkpoint.weights.string(), network.plan(), values, network.states());
  });
  agree(job.world, run_facts(*run));
  Session& session = *run->session;
  load_samples(session);
  Team team(work.mesh, work.pool, true, session.exact_blocks());
  session.network().attach(values, {}, team);
  const Scores scores = evaluate(session, *split);
  if (!session.data().notice.empty()) job.warn("note: " + session.data().notice + "\n");
  job.print(fmt::format("{}\n{}: {}, {}\n{}", checkpoint.weights.parent_path().string(), arguments.split,
                        session.data().name, counted(split->size(), "sample"),
                        scores_text(scores, session.metric_facts())));
}

}  // namespace trainer
