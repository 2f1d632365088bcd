#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands/batch_shares.h"
#include "cli/commands/engine_file.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/micro_batches.h"
#include "cli/commands/preflight_check.h"
#include "cli/commands/run_start.h"
#include "cli/commands/step_trace.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/launch.h"
#include "cli/launching/rank_messages.h"
#include "cli/launching/restart.h"
#include "cli/reports/environment.h"
#include "cli/reports/header.h"
#include "cli/reports/live_page.h"
#include "cli/reports/rank_times.h"
#include "cli/reports/report.h"
#include "cli/reports/reviewed_samples.h"
#include "cli/terminal/placement_flags.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "engine/core/base64.h"
#include "engine/math/engine.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/files.h"
#include "engine/system/stop_signals.h"
#include "models/training/divergence.h"
#include "models/training/likely_mistakes.h"
#include "models/training/program_scores.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTraceFile = "trace.json";
constexpr std::int64_t kFloatsInKib = 1024 / sizeof(float);

/// "mnist-small" for configs/mnist-small.yaml and for runs/mnist-small/config.yaml.
std::string run_name(const Arguments& arguments) {
  if (!arguments.name.empty()) return arguments.name;
  const fs::path file = arguments.files.front();
  const std::string stem = file.stem().string(), folder = file.parent_path().filename().string();
  return stem == "config" && !folder.empty() && folder != "." && folder != ".." ? folder : stem;
}

/// The command line that repeats this run.
std::string command_of(const Job& job) {
  std::vector<std::string> words = job.arguments.words;
  if (job.arguments.ranks == 0 && job.world.size() > 1)
    words.insert(words.begin(), {"mpirun", "-n", std::to_string(job.world.size())});
  return shell_line(words);
}

std::optional<std::chrono::steady_clock::time_point> deadline_of(const Job& job) {
  if (job.arguments.walltime == 0 || job.world.rank() != 0) return std::nullopt;
  return job.start + std::chrono::seconds(job.arguments.walltime);
}

/// The command line that resumes the run with the same ranks and limits; flags of its display are left out.
std::string command_to_resume(const Job& job, const Mesh& mesh, const std::string& run) {
  const Arguments& arguments = job.arguments;
  std::vector<std::string> words{"trainer"};
  const std::string ranks = std::to_string(job.world.size());
  if (arguments.ranks > 0) words = {"trainer", "-n", ranks};
  if (arguments.ranks == 0 && job.world.size() > 1) words = {"mpirun", "-n", ranks, "trainer"};
  Arguments placed = arguments;
  // The mesh that --mesh auto chose: another one changes the last bits.
  if (std::exchange(placed.chooses_mesh, false))
    placed.mesh = MeshShape{.data = mesh.data().size(), .model = mesh.model().size()};
  const std::vector<std::string> placement = placement_flags(placed);
  words.insert(words.end(), placement.begin(), placement.end());
  if (arguments.restarts > 0) words.insert(words.end(), {"--restarts", std::to_string(arguments.restarts)});
  if (const std::int64_t time = arguments.walltime; time > 0)
    words.insert(words.end(),
                 {"--walltime", fmt::format("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)});
  words.push_back(run);
  return shell_line(words);
}

bool saves_checkpoints(const Session& session) {
  return session.settings().checkpoint.kind != Cadence::Kind::never;
}

std::string stopped_text(const Job& job, const std::string& run, const Session& session,
                         const RunFacts& facts, const RunResult& result) {
  const std::string when =
      fmt::format("stopped after step {} of {}", grouped(result.steps), grouped(facts.total_steps));
  if (!saves_checkpoints(session)) return when + "; nothing is saved (train.checkpoint: never)\n";
  return fmt::format("{}; saved {}\nresume with: {}\n", when, shell_line({run}),
                     command_to_resume(job, session.mesh(), run));
}

/// The command that evaluates a run on samples that it has.
std::string command_to_evaluate(const std::string& run, const Session& session) {
  std::vector<std::string> words{"trainer", "eval", run};
  if (session.evaluation_split().empty()) words.insert(words.end(), {"--split", "train"});
  return shell_line(words);
}

std::string finished_text(const std::string& run, const Session& session, const RunFacts& facts,
                          const std::string& reason, ProgressMode progress) {
  if (progress == ProgressMode::json)
    return fmt::format(R"({{"event":"finished","run":{},"steps":{},"total_steps":{},"reason":{}}})"
                       "\n",
                       json_text(run), facts.first_step, facts.total_steps, json_text(reason));
  return fmt::format("{} is finished: {} of {} steps are done{}   use: {}\n", run, facts.first_step,
                     facts.total_steps, reason.empty() ? "" : ", " + reason,
                     command_to_evaluate(run, session));
}

std::string saved_text(const std::string& run, const Session& session, bool has_report) {
  std::string text = "saved " + shell_line({run}) + (has_report ? "   view: report.html" : "");
  if (saves_checkpoints(session)) text += "   use: " + command_to_evaluate(run, session);
  return text;
}

/// A divergence after which a run returns to its last checkpoint.
struct Rollback {
  std::string from;     ///< the directory of the run, or of one of its checkpoints
  int count = 0;        ///< of the run, this one included
  std::int64_t of = 0;  ///< train.on_divergence.times
  double factor = 1;    ///< of the learning rate from here on
  std::string what;     ///< of the divergence
  std::int64_t to = 0;  ///< the step of the checkpoint

  std::string text() const {
    return fmt::format("{}; back to step {}, lr x {:.3g} (rollback {} of {})", what, to, factor, count, of);
  }
};

/// On world rank 0: the run's directory, a new one or that of the resumed run. Collective.
std::optional<RunDirectory> take_directory(const Job& job, const OpenRun& run, const CpuAffinity& affinity,
                                           RunStart& start, const std::optional<Rollback>& rollback) {
  const std::string config = run.config.resolved_yaml();
  const RunDirectory::Description description{config, rollback ? "# " + rollback->text() : command_of(job),
                                              environment_json(*run.session, affinity, config)};
  std::optional<RunDirectory> directory;
  const auto take = [&] {
    if (start.resumed) {
      Resumed& resumed = *start.resumed;
      resumed.directory.resume(description, resumed.checkpoint.state);
      directory = std::move(resumed.directory);
    } else {
      directory.emplace(RunDirectory::Options{job.arguments.out, run_name(job.arguments)}, description);
    }
    const Tokenizer* const tokenizer = run.session->data().train->info().tokenizer;
    if (tokenizer && tokenizer->kind() == "sentencepiece")
      write_file(directory->path() / "sentencepiece.model",
                 bytes_of_base64(tokenizer->definition()).value_or(""));
    if (const std::string name = name_of_engine_table(rounding_text()); !name.empty())
      write_file(directory->path() / name, job.arguments.engine_table_text);
    if (is_launched()) report_run(directory->path());
  };
  run_collectively(job.world, [&] {
    with_disk(job.world, "the beginning of the run directory", job.world.rank() == 0, take);
  });
  return directory;
}

/// `ending`: why the run ended before its last step, else empty. False after a failure, which is only a
/// warning: `trainer report` can write the report later.
bool try_to_write_report(const Job& job, RunDirectory& directory, const TrainingRun& training,
                         SamplesWriter& samples, const std::string& ending) {
  const fs::path& run = directory.path();
  try {
    if (!ending.empty()) directory.add_note(ending);
    samples.write();
    if (!training.rank_times().empty())
      write_file(run / kRankTimesFile, rank_times_csv(training.rank_times()));
    write_report(run);
    return true;
  } catch (const Error& error) {
    job.warn("warning: report.html is not written: " + error.diagnostics().front().what + "\n");
    return false;
  }
}

/// A failure is only a warning: all else of the run is written.
void try_to_write_trace(const Job& job, const fs::path& file, const std::string& events) {
  try {
    write_file(file, events);
  } catch (const Error& error) {
    job.warn(fmt::format("warning: {} is not written: {}\n", kTraceFile, error.diagnostics().front().what));
  }
}

/// The last lines, on world rank 0.
void report_result(const Job& job, const Session& session, const RunFacts& facts, const RunResult& result,
                   const std::string& run, bool has_report) {
  if (is_launched())
    report_end(!result.stopped              ? RunEnd::finished
               : saves_checkpoints(session) ? RunEnd::stopped
                                            : RunEnd::stopped_unsaved);
  // Standard output is for results. A launcher that ends may lose the message.
  if (result.stopped)
    job.warn(stopped_text(job, run, session, facts, result));
  else if (job.arguments.progress != ProgressMode::json)
    job.print((job.arguments.quiet ? "" : "\n") +
              wrapped(result_line(facts, result), 0, 6, static_cast<std::size_t>(window_columns())) + "\n" +
              saved_text(run, session, has_report) + "\n");
}

/// The newest checkpoint; where the run has diverged again since it returned to that one, the one before, if
/// there is one.
std::string return_point(const RunDirectory& directory, std::int64_t first_step, bool is_rollback) {
  const fs::path folder = directory.checkpoints();
  if (is_rollback && step_behind(newest_checkpoint(folder)) == first_step)
    if (const fs::path before = checkpoint_before(folder, first_step); !before.empty())
      return before.string();
  return directory.path().string();
}

/// Of --live, on world rank 0; else null. Collective.
std::unique_ptr<LivePage> started_page(const Job& job) {
  std::unique_ptr<LivePage> page;
  run_collectively(job.world, [&] {
    if (job.arguments.live && job.world.rank() == 0) page = std::make_unique<LivePage>(*job.arguments.live);
  });
  if (page) job.warn("live: " + page->url() + "\n");
  return page;
}

/// Of --profile: records some steps after the first ones; else null. Collective.
std::unique_ptr<StepTrace> profile_of(const Job& job, const Config& root, TrainingParts& parts) {
  constexpr std::int64_t kWarmUp = 10, kSteps = 50;
  if (!job.arguments.profile) return nullptr;
  run_collectively(job.world, [&] {
    if (const std::string_view apart = parts.session.settings().steps_apart(); !apart.empty())
      root.at("train").fail(apart, "--profile records layers of steps that all ranks take together");
  });
  const RunFacts& facts = parts.facts;
  const std::int64_t first = facts.first_step + std::min(kWarmUp, (facts.total_steps - facts.first_step) / 2);
  auto trace = std::make_unique<StepTrace>(parts, first, first + kSteps);
  trace->watch_layers();
  return trace;
}

/// Warnings and notes before the first step.
void print_notes(const Job& job, const OpenRun& run, const TrainingRun& training, const RunStart& start,
                 bool is_rollback) {
  const Arguments& arguments = job.arguments;
  if (training.lacks_snapshots())
    job.warn(arguments.restarts > 0
                 ? "warning: train.snapshot keeps nothing: a host has no folder in memory (/dev/shm)\n"
                 : "note: train.snapshot keeps nothing without `trainer -n N --restarts K`\n");
  if (!is_rollback && start.resumed && start.resumed->place.empty())
    job.warn(fmt::format("note: {} has no checkpoint: it starts at step 0\n",
                         shell_line({start.resumed->directory.path().string()})));
  for (const std::string& note : run.config.notes()) job.warn("note: " + note + "\n");
  if (!arguments.quiet && !start.resumed)
    for (const Diagnostic& mistake :
         likely_mistakes(run.config.root(), *run.session, !arguments.initial_weights.empty()))
      job.warn(warning_text(mistake) + "\n\n");
}

/// Prints the header; without one, the notice of the data. World rank 0 only.
void show_header(const Job& job, const CpuAffinity& affinity, const Session& session,
                 const TrainingRun& training, const std::string& path) {
  const Arguments& arguments = job.arguments;
  // The notice is in the header: a launcher may mix standard error into the table.
  if (arguments.progress != ProgressMode::json && !arguments.quiet)
    job.print(Header{run_name(arguments), path, affinity, session, training, arguments.verbose}.text());
  else if (!session.data().notice.empty())
    job.warn("note: " + session.data().notice + "\n");
}

/// The rollback after a divergence with the message `what`. `directory`: on world rank 0. `is_rollback`: this
/// run began with one.
Rollback next_rollback(const Session& session, const TrainingRun& training,
                       const std::optional<RunDirectory>& directory, bool is_rollback,
                       const std::string& what) {
  const RollbackSettings& settings = *session.settings().rollback;
  const int count = training.rollbacks() + 1;
  return {.from = directory ? return_point(*directory, training.facts().first_step, is_rollback) : "",
          .count = count,
          .of = settings.times,
          .factor = std::pow(settings.factor, count),
          .what = what};
}

struct TrainingEnd {
  int code = 0;                           ///< of the program
  std::optional<Rollback> rollback = {};  ///< from which the run resumes
};

/// Trains until the end, a stop or a divergence. `live`: of --live on world rank 0, else null. `rollback`:
/// that by which the run begins. Collective.
TrainingEnd train(const Job& job, MeshAndThreads& work, RunStart start, LivePage* live,
                  std::optional<Rollback> rollback) {
  const Arguments& arguments = job.arguments;
  const std::string learned = learn_once(start.config, job.world);
  const OpenRun run = open_fitted_run(start.config, work.mesh, work.pool, learned);
  run_collectively(job.world, [&] {
    check_changes(run, start);
    check_sharding(run.config.root().at("train"), run.session->settings(), arguments.sharding,
                   work.mesh.model().size());
    if (arguments.until < 1 && (run.session->evaluation_split().empty() ||
                                run.session->settings().evaluate.kind == Cadence::Kind::never))
      throw Error(ExitCode::usage, "--until stops after an evaluation, and the run has none",
                  "`data: {validation: 0.1}`, and no train.evaluate: never");
  });
  preflight_check(job.world, run_facts(run));
  Session& session = *run.session;
  Review review;
  run_collectively(job.world, [&] {
    if (job.world.rank() == 0 && ProgramScores::are_needed(session)) ProgramScores::check(session);
  });
  const bool are_loaded = divide_batches(job, start, run, work.affinity.placement.oversubscribed);
  TrainingRun training(run.config.root(), session,
                       {.config = run.config.resolved_yaml(),
                        .initial_weights = start.has_checkpoint || !arguments.initial_weights.empty()
                                               ? arguments.initial_weights
                                               : arguments.weights_of_step_0,
                        .rollbacks = rollback ? rollback->count : 0,
                        .resumes = start.has_checkpoint,
                        .reducer = {.bucket_floats = arguments.bucket * kFloatsInKib,
                                    .oversubscribed = work.affinity.placement.oversubscribed,
                                    .sharding = arguments.sharding},
                        .asked_to_stop = StopSignals::received,
                        .deadline = deadline_of(job),
                        .until = arguments.until,
                        .snapshots = arguments.restarts > 0 ? snapshot_folder() : fs::path(),
                        .review = &review,
                        .warn = [&](const std::string& what) { job.warn("warning: " + what + "\n"); }});
  restore(job, start, training, session.settings().exact);
  if (rollback) {
    rollback->to = training.facts().first_step;
    job.warn("warning: " + rollback->text() + "\n");
  }
  if (training.is_finished()) {
    if (is_launched() && job.world.rank() == 0) report_end(RunEnd::finished);
    if (start.resumed)
      job.print(finished_text(start.resumed->directory.path().string(), session, training.facts(),
                              training.early_end(), arguments.progress));
    return {};
  }
  print_notes(job, run, training, start, rollback.has_value());
  // After the trainer, so that gradients get shared memory first if it is scarce.
  if (!are_loaded) load_samples(session);
  check_samples(job, start, session.data());
  const std::unique_ptr<StepTrace> trace = profile_of(job, run.config.root(), training.parts());

  std::optional<RunDirectory> directory = take_directory(job, run, work.affinity, start, rollback);
  std::unique_ptr<Observer> progress;
  std::optional<SamplesWriter> samples;
  std::vector<Observer*> observers;
  if (directory) {
    const std::string path = directory->path().string();
    if (live != nullptr) live->show(path);
    // A rollback continues the table of the run, below its header.
    if (!rollback) show_header(job, work.affinity, session, training, path);
    progress = arguments.quiet ? make_quiet_progress(arguments.progress, path)
                               : make_progress(arguments.progress, standard_output(), path, !rollback);
    samples.emplace(session, review, directory->path());
    observers = {&*directory, progress.get(), &*samples};
  }
  bool has_report = false;
  const auto write_pages = [&](const std::string& ending) {
    has_report = try_to_write_report(job, *directory, training, *samples, ending);
  };
  RunResult result;
  try {
    result = training.run(observers, directory ? directory->checkpoints() : "", trace.get());
  } catch (const Divergence& error) {
    // The curves show what went wrong.
    const Diagnostic& divergence = error.diagnostics().front();
    if (directory)
      write_pages(training.may_roll_back()
                      ? ""
                      : fmt::format("{}; {}", divergence.what, fmt::join(divergence.notes, "; ")));
    if (!training.may_roll_back()) throw;
    Rollback next = next_rollback(session, training, directory, rollback.has_value(), divergence.what);
    broadcast_text(job.world, next.from);
    return {static_cast<int>(ExitCode::diverged), next};
  }
  progress.reset();  // the bar goes before the last lines come
  with_disk(job.world, "the writing of the report", directory.has_value(),
            [&] { write_pages(ending_text(training.facts(), result)); });
  if (trace) {
    const std::string events = trace->json();
    with_disk(job.world, "the writing of the trace", directory.has_value(),
              [&] { try_to_write_trace(job, directory->path() / kTraceFile, events); });
  }
  if (directory)
    report_result(job, session, training.facts(), result, directory->path().string(), has_report);
  if (const std::string note = nodes_note(training.facts(), result); directory && !note.empty())
    job.warn("note: " + note + "\n");
  if (!result.stopped) return {};
  return {static_cast<int>(saves_checkpoints(session) ? ExitCode::interrupted : ExitCode::failure)};
}

}  // namespace

int train_command(const Job& job) {
  const StopSignals signals(job.world.size() == 1 && !is_launched());
  RunStart start = find_run_start(job);
  MeshAndThreads work(job, start.config);
  if (is_launched()) prepare_survivor_report(job.world.rank(), work.affinity.hosts);
  const std::unique_ptr<LivePage> live = started_page(job);
  TrainingEnd end = train(job, work, std::move(start), live.get(), std::nullopt);
  while (end.rollback) {
    Arguments arguments = job.arguments;
    resume_instead(arguments, end.rollback->from);
    const Job again{arguments, job.world, job.start};
    end = train(again, work, find_run_start(again), live.get(), end.rollback);
  }
  return end.code;
}

}  // namespace trainer
