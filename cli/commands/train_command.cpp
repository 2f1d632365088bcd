#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/preflight_check.h"
#include "cli/commands/run_start.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/launch.h"
#include "cli/launching/restart.h"
#include "cli/reports/environment.h"
#include "cli/reports/header.h"
#include "cli/reports/report.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/stop_signals.h"

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

bool is_restartable(const Job& job) { return was_launched() && job.arguments.restarts > 0; }

std::optional<std::chrono::steady_clock::time_point> deadline_of(const Job& job) {
  if (job.arguments.walltime == 0 || job.world.rank() != 0) return std::nullopt;
  return job.start + std::chrono::seconds(job.arguments.walltime);
}

/// The command line that goes on with the run, placed and guarded as it was; how it was shown it leaves out.
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
  add("--restarts", arguments.restarts);
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

std::string finished_text(const std::string& run, const RunFacts& facts, ProgressMode progress) {
  if (progress == ProgressMode::json)
    return fmt::format(R"({{"event":"finished","run":{},"steps":{},"total_steps":{}}})"
                       "\n",
                       json_text(run), facts.first_step, facts.total_steps);
  return fmt::format("{} is finished: {} of {} steps are done   use: {}\n", run, facts.first_step,
                     facts.total_steps, shell_line({"trainer", "eval", run}));
}

std::string saved_text(const std::string& run, const TrainSettings& settings) {
  std::string text = "saved " + shell_line({run}) + "   view: report.html";
  if (settings.checkpoint.kind != Cadence::Kind::never)
    text += "   use: " + shell_line({"trainer", "eval", run});
  return text;
}

/// The run's directory on world rank 0, a new one or the one to go on in. Collective.
std::optional<RunDirectory> take_directory(const Job& job, const OpenRun& run, const CpuAffinity& affinity,
                                           RunStart& beginning) {
  const std::string config = run.config.resolved_yaml();
  const RunDirectory::Description description{config, command_of(job),
                                              environment_json(*run.session, affinity, config)};
  std::optional<RunDirectory> directory;
  const auto take = [&] {
    if (beginning.resumed) {
      Resumed& resumed = *beginning.resumed;
      resumed.directory.go_on(description, resumed.checkpoint.state);
      directory = std::move(resumed.directory);
    } else {
      directory.emplace(RunDirectory::Options{job.arguments.out, run_name(job.arguments)}, description);
    }
    if (was_launched()) tell_run(directory->path());
  };
  run_collectively(job.world, [&] {
    with_disk(job.world, "the beginning of the run directory", job.world.rank() == 0, take);
  });
  return directory;
}

/// A run is whole without its report, which can be made again.
void report_run(const Job& job, const std::string& run) {
  try {
    write_report(run);
  } catch (const Error& error) {
    job.warn("warning: report.html is not written: " + error.diagnostics().front().what + "\n");
  }
}

/// The last lines, on world rank 0.
void tell_end(const Job& job, const Session& session, const RunFacts& facts, const RunResult& result,
              const std::string& run) {
  if (was_launched()) result.stopped ? tell_stopped() : tell_finished();
  // Not a result, so that one who reads results is not misled; and a launcher may be on its way to the end.
  if (result.stopped)
    job.warn(stopped_text(job, run, session.settings(), facts, result));
  else if (job.arguments.progress != ProgressMode::json)
    job.print((job.arguments.quiet ? "" : "\n") + result_line(facts, result) + "\n" +
              saved_text(run, session.settings()) + "\n");
}

}  // namespace

int train_command(const Job& job) {
  const StopSignals signals;
  const Arguments& arguments = job.arguments;
  MeshAndThreads work(job);
  if (is_restartable(job)) prepare_to_be_left(job.world.rank(), work.affinity.hosts);

  RunStart beginning = find_run_start(job);
  std::optional<OpenRun> run;
  run_collectively(job.world, [&] {
    run.emplace(open_run(beginning.config, work.mesh, work.pool));
    check_changes(*run, beginning);
  });
  agree(job.world, run_facts(*run));
  Session& session = *run->session;
  Trainer training(run->config.root(), session,
                   {.config = run->config.resolved_yaml(),
                    .initial_weights = arguments.initial_weights,
                    .resumes = beginning.has_checkpoint,
                    .reducer = {.bucket_floats = arguments.bucket * kFloatsInKib,
                                .crowded = work.affinity.placement.crowded},
                    .asked_to_stop = StopSignals::asked,
                    .deadline = deadline_of(job)});
  restore(job, beginning, training);
  if (training.is_finished()) {
    if (was_launched() && job.world.rank() == 0) tell_finished();
    if (beginning.resumed)
      job.print(
          finished_text(beginning.resumed->directory.path().string(), training.facts(), arguments.progress));
    return 0;
  }
  for (const std::string& note : run->config.notes()) job.warn("note: " + note + "\n");
  // After the trainer, whose gradients have more use for shared memory where there is little.
  load_samples(session);

  std::optional<RunDirectory> directory = take_directory(job, *run, work.affinity, beginning);
  std::unique_ptr<Observer> progress;
  std::vector<Observer*> observers;
  if (directory) {
    const std::string path = directory->path().string();
    // The header says it too, and a launcher may deliver standard error in the midst of the table.
    if (arguments.progress != ProgressMode::json && !arguments.quiet)
      job.print(
          Header{run_name(arguments), path, work.affinity, session, training, arguments.verbose}.text());
    else if (!session.data().notice.empty())
      job.warn("note: " + session.data().notice + "\n");
    progress =
        make_progress(arguments.quiet ? ProgressMode::none : arguments.progress, standard_output(), path);
    observers = {&*directory, progress.get()};
  }
  RunResult result;
  try {
    result = training.run(observers, directory ? directory->checkpoints() : "");
  } catch (const Error& error) {
    // Curves are wanted most where they went wrong.
    if (directory && error.code() == ExitCode::diverged) report_run(job, directory->path().string());
    throw;
  }
  const auto report = [&] { report_run(job, directory->path().string()); };
  with_disk(job.world, "the writing of the report", directory.has_value(), report);
  if (directory) tell_end(job, session, training.facts(), result, directory->path().string());
  return result.stopped ? static_cast<int>(ExitCode::interrupted) : 0;
}

}  // namespace trainer
