#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/agreement.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/header.h"
#include "cli/open_run.h"
#include "cli/progress.h"
#include "cli/together.h"
#include "cli/workplace.h"
#include "models/training/run_directory.h"
#include "models/training/trainer.h"

namespace trainer {
namespace {

constexpr std::int64_t kFloatsInKib = 1024 / sizeof(float);

/// "mnist-small" for configs/mnist-small.yaml and for runs/mnist-small/config.yaml.
std::string run_name(const Arguments& arguments) {
  if (!arguments.name.empty()) return arguments.name;
  const std::filesystem::path file = arguments.files.front();
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

}  // namespace

void train_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  Communicator& world = job.world;
  Workplace work(job);

  std::optional<OpenRun> run;
  together(world, [&] {
    run.emplace(open_run(arguments.files.front(), arguments.overrides, work.mesh, work.pool));
  });
  agree(world, run_facts(*run));
  Session& session = *run->session;
  Trainer training(run->config.root(), session,
                   {.initial_weights = arguments.initial_weights,
                    .reducer = {.bucket_floats = arguments.bucket * kFloatsInKib,
                                .crowded = work.seats.placement.crowded}});
  // After the trainer, whose gradients have more use for shared memory where there is little.
  load_samples(session);

  const std::string config = run->config.resolved_yaml();
  const std::string environment = environment_json(session, work.seats, config);
  const std::string name = run_name(arguments);
  std::optional<RunDirectory> directory;
  together(world, [&] {
    if (world.rank() == 0)
      directory.emplace(RunDirectory::Options{arguments.out, name},
                        RunDirectory::Description{config, command_of(job), environment});
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
