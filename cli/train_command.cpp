#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/agreement.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/find_run.h"
#include "cli/header.h"
#include "cli/open_run.h"
#include "cli/progress.h"
#include "cli/restart.h"
#include "cli/together.h"
#include "cli/workplace.h"
#include "engine/config/source.h"
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
  std::optional<Resumed> resumed{Resumed{.directory = RunDirectory(found.run), .place = found.checkpoint}};
  const fs::path last = resumed->directory.checkpoints() / "last";
  if (resumed->place.empty() && fs::exists(fs::symlink_status(last))) resumed->place = last;
  if (!resumed->place.empty()) resumed->checkpoint = read_checkpoint(resumed->place);
  return resumed;
}

void broadcast(Communicator& world, std::string& text) {
  std::int64_t size = std::ssize(text);
  world.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(static_cast<std::size_t>(size));
  world.broadcast(std::as_writable_bytes(std::span(text)), 0);
}

/// The keys that a run cannot change on its way.
void check_changes(const OpenRun& run, const ConfigSource& source, Mesh& mesh, ThreadPool& pool) {
  if (source.overrides.empty()) return;
  const OpenRun before = open_run({.file = source.file, .text = source.text}, mesh, pool);
  const std::vector<std::string> keys = run.config.fixed_differences(before.config);
  if (keys.empty()) return;
  throw Error(
      ExitCode::usage,
      {Diagnostic{.what = fmt::format("a run that goes on cannot change {}", listed(keys, "and")),
                  .place = source.file,
                  .help = fmt::format("trainer {} ... begins a new run", shell_line({source.file}))}});
}

}  // namespace

void train_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  Communicator& world = job.world;
  Workplace work(job);

  std::optional<Resumed> resumed;
  std::string config_file = arguments.files.front(), config_text;
  together(world, [&] {
    if (world.rank() != 0) return;
    resumed = find_resumed(arguments);
    if (!resumed) return;
    config_text = resumed->directory.config();
    config_file = (resumed->directory.path() / "config.yaml").string();
  });
  broadcast(world, config_text);
  const bool goes_on = !config_text.empty();
  // Otherwise each reads what it was told to: run_facts() finds out whether that is the same.
  if (goes_on) broadcast(world, config_file);
  const ConfigSource source{.file = config_file, .text = config_text, .overrides = arguments.overrides};

  std::optional<OpenRun> run;
  together(world, [&] {
    run.emplace(open_run(source, work.mesh, work.pool));
    if (goes_on) check_changes(*run, source, work.mesh, work.pool);
  });
  agree(world, run_facts(*run));
  Session& session = *run->session;
  Trainer training(run->config.root(), session,
                   {.initial_weights = arguments.initial_weights,
                    .reducer = {.bucket_floats = arguments.bucket * kFloatsInKib,
                                .crowded = work.seats.placement.crowded}});
  std::int64_t has_checkpoint = resumed && !resumed->place.empty() ? 1 : 0;
  world.sum(std::span(&has_checkpoint, 1));
  if (has_checkpoint > 0) {
    together(world, [&] {
      if (world.rank() == 0) training.check_fit(resumed->checkpoint, resumed->place.string());
    });
    training.restore(resumed ? resumed->checkpoint : Checkpoint{});
  }
  if (training.is_finished()) {
    const std::string path = resumed ? resumed->directory.path().string() : "";
    return job.print(fmt::format("{} is finished: {} of {} steps are done   use: {}\n", path,
                                 training.facts().first_step, training.facts().total_steps,
                                 shell_line({"trainer", "eval", path})));
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
    note_run(directory->path());
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
  if (!directory || !for_people) return;
  std::string saved = "saved " + shell_line({directory->path().string()});
  if (session.settings().checkpoint.kind != Cadence::Kind::never)
    saved += "   use: " + shell_line({"trainer", "eval", directory->path().string()});
  job.print((arguments.quiet ? "" : "\n") + result_line(training.facts(), result) + "\n" + saved + "\n");
}

}  // namespace trainer
