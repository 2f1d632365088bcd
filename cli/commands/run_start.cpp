#include "cli/commands/run_start.h"

#include <fmt/format.h>

#include "cli/commands/engine_file.h"
#include "cli/commands/find_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/launch.h"
#include "cli/launching/restart.h"
#include "cli/terminal/shell_line.h"
#include "engine/config/source.h"
#include "engine/math/engine.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "models/checkpoints/checkpoint_folder.h"
#include "models/checkpoints/data_json.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// After a lost process: the snapshot in memory, if it is whole and newer than `resumed.place`.
void prefer_snapshot(Resumed& resumed, std::string& note) {
  const fs::path folder = snapshot_folder(), last = link_target(folder / "last");
  if (folder.empty()) return;
  // A half snapshot of the processes that were lost must not take room from this run's shared memory.
  CheckpointFolder(folder).resume(-1, -1);
  if (last.empty()) return;
  const std::int64_t saved = resumed.place.empty() ? -1 : step_behind(resumed.place);
  if (checkpoint_step(last.filename().string()).value_or(-1) <= saved) return;
  try {
    resumed.checkpoint = read_checkpoint(last);
    resumed.place = last;
    resumed.is_snapshot = true;
  } catch (const Error& error) {
    note = error.diagnostics().front().what;
  }
}

std::optional<Resumed> find_resumed(const Arguments& arguments, std::string& note) {
  const fs::path path = arguments.files.front();
  std::error_code ignored;
  if (!arguments.resume && !fs::is_directory(path, ignored)) return std::nullopt;
  const FoundRun found = find_run(path);
  if (arguments.files.size() > 1)
    throw Error(ExitCode::usage,
                fmt::format("{} resumes with the configuration that it has, without {}", path.string(),
                            in_quotes(arguments.files[1])),
                "-s KEY=VALUE changes what may change in a run");
  for (const auto& [flag, given] :
       {std::pair{"--out", !arguments.out.empty()}, {"--name", !arguments.name.empty()}})
    if (given)
      throw Error(
          ExitCode::usage,
          fmt::format("{} is for a new run, not for one that resumes: {}", flag, found.run.string()),
          fmt::format("trainer {} starts a new one", shell_line({(found.run / "config.yaml").string()})));
  // A process that was killed holds the run until it is gone; after the loss of the launcher, ranks may save
  // first.
  const std::chrono::seconds patience(is_restart() ? 30 : 3);
  std::optional<Resumed> resumed{
      Resumed{.directory = RunDirectory(found.run, patience), .place = found.checkpoint}};
  // Before hours of training, not at their end.
  refuse_link(resumed->directory.checkpoints());
  restore_replaced(resumed->directory.checkpoints());
  named_checkpoint(resumed->directory.checkpoints() / "best");
  if (resumed->place.empty()) resumed->place = newest_checkpoint(resumed->directory.checkpoints());
  if (is_restart()) prefer_snapshot(*resumed, note);
  if (!resumed->place.empty() && !arguments.initial_weights.empty())
    throw Error(
        ExitCode::usage,
        fmt::format("--init is for a run that starts, and {} has a checkpoint to resume from",
                    found.run.string()),
        fmt::format("trainer {} starts a new one", shell_line({(found.run / "config.yaml").string()})));
  if (!resumed->place.empty() && !resumed->is_snapshot) resumed->checkpoint = read_checkpoint(resumed->place);
  return resumed;
}

/// The keys that a resumed run has changed although it must keep them.
std::vector<std::string> changed_keys(const OpenRun& run, const RunStart& start) {
  const auto differences = [&](const std::string& text) {
    ConfigTree before({.file = start.config.file, .text = text}, run_settings());
    define_by_data(before, run.session->data().train->info());
    return run.config.fixed_differences(before);
  };
  // The file may have been edited since; only rank 0 has the configuration of the checkpoint.
  const std::optional<Resumed>& resumed = start.resumed;
  if (!resumed || resumed->checkpoint.state.config.empty()) return differences(start.config.text);
  try {
    return differences(resumed->checkpoint.state.config);
  } catch (const Error& error) {
    throw damaged_state(resumed->place,
                        "its configuration cannot be read: " + error.diagnostics().front().what);
  }
}

/// An exact run keeps its bits only with the engine of its checkpoint; any other run may change it.
void check_engine(const Job& job, const Resumed& resumed, bool exact) {
  const std::string &then = resumed.checkpoint.state.engine, now = rounding_text();
  if (then.empty() || then == now) return;
  if (!exact) {
    job.warn(
        fmt::format("note: engine {} from here on; the checkpoint was computed with engine {}\n", now, then));
    return;
  }
  const std::string kept = name_of_engine_table(then);
  const std::string engine =
      kept.empty() ? then.substr(0, then.find(' ')) : (resumed.directory.path() / kept).string();
  throw Error(
      ExitCode::usage,
      {Diagnostic{.what = fmt::format("an exact run cannot change its engine from {} to {}", then, now),
                  .place = resumed.place.string(),
                  .help = fmt::format("--engine {}, with the same kernels (TRAINER_INSTRUCTIONS, "
                                      "OPENBLAS_CORETYPE), or `train.exact: false` in a new run",
                                      engine)}});
}

}  // namespace

RunStart find_run_start(const Job& job) {
  const Arguments& arguments = job.arguments;
  std::optional<Resumed> resumed;
  ConfigSource config = config_source(arguments.files, arguments.overrides);
  std::string text, note;
  const auto find = [&] {
    resumed = find_resumed(arguments, note);
    if (!resumed) return;
    text = resumed->directory.config();
    config.file = (resumed->directory.path() / "config.yaml").string();
  };
  run_collectively(job.world,
                   [&] { with_disk(job.world, "the reading of the run", job.world.rank() == 0, find); });
  if (!note.empty()) job.warn("warning: the snapshot in memory is not used: " + note + "\n");
  broadcast_text(job.world, text);
  const bool resumes = !text.empty();
  // Without a run to resume, each rank reads its own file; run_facts() compares them.
  if (resumes) broadcast_text(job.world, config.file);
  config.text = text;
  std::int64_t checkpoints = resumed && !resumed->place.empty() ? 1 : 0;
  job.world.sum(std::span(&checkpoints, 1));
  return {.resumed = std::move(resumed),
          .config = std::move(config),
          .resumes = resumes,
          .has_checkpoint = checkpoints > 0};
}

void check_changes(const OpenRun& run, const RunStart& start) {
  if (!start.resumes) return;
  const std::string& file = start.config.file;
  const std::vector<std::string> keys = changed_keys(run, start);
  if (keys.empty()) return;
  throw Error(ExitCode::usage,
              {Diagnostic{.what = fmt::format("a resumed run cannot change {}", listed(keys, "and")),
                          .place = file,
                          .help = fmt::format("trainer {} ... starts a new run", shell_line({file}))}});
}

void restore(const Job& job, const RunStart& start, TrainingRun& training, bool exact) {
  if (!start.has_checkpoint) return;
  const std::optional<Resumed>& resumed = start.resumed;
  run_collectively(job.world, [&] {
    if (!resumed) return;
    training.check_fit(resumed->checkpoint, resumed->place.string());
    check_engine(job, *resumed, exact);
  });
  training.restore(resumed ? resumed->checkpoint : Checkpoint{});
  const RunFacts& facts = training.facts();
  if (facts.first_step > facts.total_steps)
    throw Error(ExitCode::usage, fmt::format("{} has done {} steps, and cannot end after {}",
                                             fs::path(start.config.file).parent_path().string(),
                                             facts.first_step, facts.total_steps));
}

void check_samples(const Job& job, const RunStart& start, const Data& data) {
  run_collectively(job.world, [&] {
    static_cast<void>(text_of(describe(data)));  // an error if checkpoints cannot keep it
    if (start.has_checkpoint && start.resumed) trainer::check_samples(start.resumed->place, data);
  });
}

}  // namespace trainer
