#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/preflight_check.h"
#include "cli/commands/trained_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/private_folder.h"
#include "cli/reports/confusion_table.h"
#include "cli/terminal/text.h"
#include "engine/config/source.h"
#include "models/training/evaluated_network.h"
#include "models/training/evaluation.h"
#include "models/training/program_scores.h"

namespace trainer {
namespace {

/// "test", "valid" or "train".
std::string split_name(const Arguments& arguments, const Data& data) {
  if (!arguments.split.empty()) return arguments.split;
  if (data.test || data.validation) return data.test ? "test" : "valid";
  throw Error(ExitCode::usage, fmt::format("{} has neither test nor validation samples", data.name),
              "--split train, or --data FILES");
}

const Dataset& split_of(const Data& data, const std::string& split) {
  const Dataset* chosen = split == "train"   ? data.train.get()
                          : split == "valid" ? data.validation.get()
                                             : data.test.get();
  if (!chosen)
    throw Error(ExitCode::usage, fmt::format("{} has no {} samples", data.name, split),
                split == "valid" ? "a run with `data.validation: 0.1` holds some of the training samples out"
                                 : "--split train, or --data FILES");
  return *chosen;
}

std::string scores_text(const Scores& scores, const std::vector<MetricFacts>& metrics,
                        const std::vector<std::string>& class_names) {
  std::string text = fmt::format("loss {:.9g}\n", scores.loss);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].has_program && std::isnan(scores.metrics[i])) {
      text += metrics[i].name + " not computed: --run-programs starts its program\n";
      continue;
    }
    text += fmt::format("{} {}", metrics[i].name, metric_text(metrics[i], scores.metrics[i], 2));
    if (metrics[i].counts_samples)
      text += fmt::format(" ({} of {})",
                          grouped(std::llround(scores.metrics[i] * static_cast<double>(scores.samples))),
                          grouped(scores.samples));
    text += "\n";
  }
  for (std::size_t i = 0; i < scores.tables.size(); ++i)
    if (!scores.tables[i].empty()) text += "\n" + confusion_table(scores.tables[i], class_names);
  return text;
}

/// Scores with those of programs, which find their files in a temporary folder. Collective.
Scores scores_with_programs(const Job& job, Session& session, const Dataset& split) {
  PrivateFolder folder;
  std::optional<ProgramScores> programs;
  run_collectively(job.world, [&] {
    if (job.world.rank() == 0) {
      ProgramScores::check(session);
      std::error_code error;
      const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
      if (!error) folder = PrivateFolder::create(parent);
      if (folder.path().empty())
        throw Error(ExitCode::failure, "cannot create a folder for temporary files",
                    "TMPDIR=/a/folder/with/room trainer eval ...");
    }
    programs.emplace(session, folder.path(), false);
    programs->begin(split);
  });
  const auto never = [] { return false; };
  Scores scores = *evaluate(session, split, never, nullptr, &*programs);
  programs->run(scores, never);
  return scores;
}

}  // namespace

void eval_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  MeshAndThreads work(job);

  std::optional<TrainedRun> trained;
  const Dataset* split = nullptr;
  std::string name = "data", files;
  run_collectively(job.world, [&] {
    const TrainedCheckpoint found = find_trained(arguments.files.front(), arguments.overrides);
    if (arguments.given.empty()) {
      trained.emplace(open_trained_with_data(found, work.mesh, work.pool));
      files = trained->session().data().name;
      name = split_name(arguments, trained->session().data());
      split = &split_of(trained->session().data(), name);
    } else {
      trained.emplace(open_trained(found, arguments.given, work.mesh, work.pool));
      files = listed(arguments.given);
      split = trained->session().data().test.get();
    }
  });
  preflight_check(job.world, run_facts(trained->run));
  Session& session = trained->session();
  load_samples(session);
  run_collectively(job.world, [&] {
    if (arguments.given.empty()) check_samples(trained->checkpoint, session.data());
  });
  const EvaluatedNetwork evaluated(session, trained->values);
  const bool runs_programs = arguments.runs_programs && ProgramScores::exist(session);
  const Scores scores =
      runs_programs ? scores_with_programs(job, session, *split) : evaluate(session, *split);
  if (arguments.runs_programs && !runs_programs) job.warn("note: no metric of the run is a program\n");
  if (!session.data().notice.empty()) job.warn("note: " + session.data().notice + "\n");
  job.print(fmt::format("{}\n{}: {}, {}\n{}", escaped(trained->checkpoint.string()), name, files,
                        counted(split->size(), "sample"),
                        scores_text(scores, session.metric_facts(), split->info().class_names)));
}

}  // namespace trainer
