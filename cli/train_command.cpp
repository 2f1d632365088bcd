#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/agreement.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/find_run.h"
#include "cli/header.h"
#include "cli/launch.h"
#include "cli/open_run.h"
#include "cli/progress.h"
#include "cli/restart.h"
#include "cli/text.h"
#include "cli/together.h"
#include "cli/workplace.h"
#include "engine/config/source.h"
#include "engine/core/stop_signals.h"
#include "engine/parallel/broadcast_text.h"
#include "models/training/run_directory.h"
#include "models/training/trainer.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFloatsInKib = 1024 / sizeof(float);

/// "mnist-small" for configs/mnist-small.yaml and for runs/mnist-small/config.yaml.
std::string run_name(const Arguments& arguments) {
  if (!arguments.name.empty()) return arguments.name;
  const fs::path file = arguments.files.front();
  const std::string stem = file.stem().string(), folder = file.parent_path().filename().string();
  return stem == "config" && !folder.empty() && folder != "." && folder != ".." ? folder : stem;
}

/// The command line that makes this run again.
std::string command_of(const Job& job) {
  std::vector<std::string> words = job.arguments.words;
  if (job.arguments.ranks == 0 && job.world.size() > 1)
    words.insert(words.begin(), {"mpirun", "-n", std::to_string(job.world.size())});
  return shell_line(words);
}

/// A run to go on with, as world rank 0 found it: only there is it locked and its files are read, so that no
/// other host needs to see them.
struct Resumed {
  RunDirectory directory;
  fs::path place;  ///< of the checkpoint; empty: the run has none yet
  Checkpoint checkpoint = {};
};

std::optional<Resumed> find_resumed(const Arguments& arguments) {
  const fs::path path = arguments.files.front();
  std::error_code ignored;
  if (!arguments.resume && !fs::is_directory(path, ignored)) return std::nullopt;
  const FoundRun found = find_run(path);
  for (const auto& [flag, given] : {std::pair{"--init", !arguments.initial_weights.empty()},
                                    {"--out", !arguments.out.empty()},
                                    {"--name", !arguments.name.empty()}})
    if (given)
      throw Error(
          ExitCode::usage, fmt::format("{} is for a new run, and {} goes on", flag, found.run.string()),
          fmt::format("trainer {} begins a new one", shell_line({(found.run / "config.yaml").string()})));
  // Where the launcher itself was lost, its processes may take a while to notice.
  const std::chrono::seconds patience(is_restart() ? 30 : 0);
  std::optional<Resumed> resumed{
      Resumed{.directory = RunDirectory(found.run, patience), .place = found.checkpoint}};
  const fs::path last = resumed->directory.checkpoints() / "last";
  if (resumed->place.empty() && fs::exists(fs::symlink_status(last))) resumed->place = last;
  if (!resumed->place.empty()) resumed->checkpoint = read_checkpoint(resumed->place);
  return resumed;
}

/// The keys that a run cannot change on its way.
void check_changes(const OpenRun& run, const ConfigSource& source) {
  if (source.overrides.empty()) return;
  ConfigTree before({.file = source.file, .text = source.text}, run_settings());
  define_by_data(before, run.session->data());
  const std::vector<std::string> keys = run.config.fixed_differences(before);
  if (keys.empty()) return;
  throw Error(
      ExitCode::usage,
      {Diagnostic{.what = fmt::format("a run that goes on cannot change {}", listed(keys, "and")),
                  .place = source.file,
                  .help = fmt::format("trainer {} ... begins a new run", shell_line({source.file}))}});
}

std::optional<std::chrono::steady_clock::time_point> deadline_of(const Job& job) {
  if (job.arguments.walltime == 0 || job.world.rank() != 0) return std::nullopt;
  return job.start + std::chrono::seconds(job.arguments.walltime);
}

/// The command line that goes on with the run as it was placed.
std::string command_to_go_on(const Job& job, const std::string& run) {
  const Arguments& arguments = job.arguments;
  std::vector<std::string> words{"trainer"};
  const std::string ranks = std::to_string(job.world.size());
  if (arguments.ranks > 0) words = {"trainer", "-n", ranks};
  if (arguments.ranks == 0 && job.world.size() > 1) words = {"mpirun", "-n", ranks, "trainer"};
  if (arguments.mesh)
    words.insert(words.end(), {"--mesh", fmt::format("{}x{}", arguments.mesh->data, arguments.mesh->model)});
  else if (arguments.datapar || arguments.modelpar)
    words.push_back(arguments.datapar ? "--datapar" : "--modelpar");
  const auto add = [&](const char* flag, std::int64_t value) {
    if (value > 0) words.insert(words.end(), {flag, std::to_string(value)});
  };
  add("--ranks-per-node", arguments.ranks_per_node);
  add("--threads", arguments.threads);
  add("--bucket", arguments.bucket);
  if (const std::int64_t time = arguments.walltime; time > 0)
    words.insert(words.end(),
                 {"--walltime", fmt::format("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)});
  words.push_back(run);
  return shell_line(words);
}

std::string stopped_text(const Job& job, const std::string& run, const TrainSettings& settings,
                         const RunFacts& facts, const RunResult& result) {
  const std::string when =
      fmt::format("stopped after step {} of {}", grouped(result.steps), grouped(facts.total_steps));
  if (settings.checkpoint.kind == Cadence::Kind::never)
    return when + "; nothing is saved (train.checkpoint: never)\n";
  return fmt::format("{}; saved {}\ngo on with: {}\n", when, shell_line({run}), command_to_go_on(job, run));
}

}  // namespace

int train_command(const Job& job) {
  const StopSignals signals;
  const Arguments& arguments = job.arguments;
  Communicator& world = job.world;
  Workplace work(job);
  const bool is_restartable = was_launched() && arguments.restarts > 0;
  if (is_restartable) prepare_to_be_left(world.rank(), work.seats.hosts);

  std::optional<Resumed> resumed;
  std::string config_file = arguments.files.front(), config_text;
  together(world, [&] {
    if (world.rank() != 0) return;
    resumed = find_resumed(arguments);
    if (!resumed) return;
    config_text = resumed->directory.config();
    config_file = (resumed->directory.path() / "config.yaml").string();
  });
  broadcast_text(world, config_text);
  const bool goes_on = !config_text.empty();
  // Otherwise each reads what it was told to: run_facts() finds out whether that is the same.
  if (goes_on) broadcast_text(world, config_file);
  const ConfigSource source{.file = config_file, .text = config_text, .overrides = arguments.overrides};

  std::optional<OpenRun> run;
  together(world, [&] {
    run.emplace(open_run(source, work.mesh, work.pool));
    if (goes_on) check_changes(*run, source);
  });
  agree(world, run_facts(*run));
  Session& session = *run->session;
  std::int64_t has_checkpoint = resumed && !resumed->place.empty() ? 1 : 0;
  world.sum(std::span(&has_checkpoint, 1));
  Trainer training(
      run->config.root(), session,
      {.initial_weights = arguments.initial_weights,
       .goes_on = has_checkpoint > 0,
       .reducer = {.bucket_floats = arguments.bucket * kFloatsInKib, .crowded = work.seats.placement.crowded},
       .asked_to_stop = StopSignals::asked,
       .deadline = deadline_of(job)});
  if (has_checkpoint > 0) {
    together(world, [&] {
      if (world.rank() == 0) training.check_fit(resumed->checkpoint, resumed->place.string());
    });
    training.restore(resumed ? resumed->checkpoint : Checkpoint{});
  }
  if (training.is_finished()) {
    const std::string path = resumed ? resumed->directory.path().string() : "";
    job.print(fmt::format("{} is finished: {} of {} steps are done   use: {}\n", path,
                          training.facts().first_step, training.facts().total_steps,
                          shell_line({"trainer", "eval", path})));
    return 0;
  }
  // After the trainer, whose gradients have more use for shared memory where there is little.
  load_samples(session);

  const std::string config = run->config.resolved_yaml();
  const std::string environment = environment_json(session, work.seats, config);
  const std::string name = run_name(arguments);
  std::optional<RunDirectory> directory;
  together(world, [&] {
    if (world.rank() != 0) return;
    const RunDirectory::Description description{config, command_of(job), environment};
    if (resumed) {
      resumed->directory.go_on(description, resumed->checkpoint.state);
      directory = std::move(resumed->directory);
    } else {
      directory.emplace(RunDirectory::Options{arguments.out, name}, description);
    }
    if (is_restartable) tell_run(directory->path());
  });

  std::unique_ptr<Observer> progress;
  std::vector<Observer*> observers;
  const bool for_people = arguments.progress != ProgressMode::json;
  if (directory) {
    // The header says it too, and a launcher may deliver standard error in the midst of the table.
    if (for_people && !arguments.quiet)
      job.print(
          Header{name, directory->path().string(), work.seats, session, training, arguments.verbose}.text());
    else if (!session.data().notice.empty())
      job.warn("note: " + session.data().notice + "\n");
    progress = make_progress(arguments.quiet ? ProgressMode::none : arguments.progress, standard_output(),
                             directory->path().string());
    observers = {&*directory, progress.get()};
  }
  const RunResult result = training.run(observers, directory ? directory->checkpoints() : "");
  const int code = result.stopped ? static_cast<int>(ExitCode::interrupted) : 0;
  if (!directory) return code;
  const std::string path = directory->path().string();
  if (result.stopped) {
    // Not a result, so that one who reads results is not misled; and a launcher may be on its way to the end.
    job.warn(stopped_text(job, path, session.settings(), training.facts(), result));
    return code;
  }
  if (!for_people) return code;
  std::string saved = "saved " + shell_line({path});
  if (session.settings().checkpoint.kind != Cadence::Kind::never)
    saved += "   use: " + shell_line({"trainer", "eval", path});
  job.print((arguments.quiet ? "" : "\n") + result_line(training.facts(), result) + "\n" + saved + "\n");
  return code;
}

}  // namespace trainer
