#include "cli/commands/search_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/commands/open_run.h"
#include "cli/terminal/output.h"
#include "cli/terminal/placement_flags.h"
#include "cli/terminal/shell_line.h"
#include "engine/system/cores.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

ConfigSource source_of(const SearchPlan& plan, const Trial& trial) {
  ConfigSource source = config_source(plan.configs, plan.settings);
  source.overrides.insert(source.overrides.end(), trial.settings.begin(), trial.settings.end());
  return source;
}

/// The resolved configuration of each trial, so that a search does not change when its config does.
std::vector<std::string> configs_of(const SearchPlan& plan) {
  std::vector<std::string> configs;
  for (const Trial& trial : plan.trials)
    configs.push_back(ConfigTree(source_of(plan, trial), run_settings()).resolved_yaml());
  return configs;
}

/// Opens the data and the model of a trial.
ScoreFacts facts_of(const ConfigSource& source, bool pauses) {
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  const OpenRun run = open_run(source, mesh, pool);
  const TrainSettings& settings = run.session->settings();
  if (!run.session->evaluation_data() || settings.evaluate.kind == Cadence::Kind::never)
    throw Error(ExitCode::usage, "trials are compared by their evaluations, and the run has none",
                "-s data.validation=0.1, and train.evaluate other than never");
  if (pauses && settings.checkpoint.kind == Cadence::Kind::never)
    throw Error(ExitCode::usage, "trials pause and resume, and train.checkpoint is never",
                "-s train.checkpoint=epoch");
  return {.split = run.session->evaluation_split(), .metrics = run.session->metric_facts()};
}

/// Flags of a new search, which has them in its plan from then on.
void refuse_new_flags(const Arguments& arguments) {
  const SearchArguments& search = arguments.search;
  const bool is_given = arguments.files.size() > 1 || !arguments.overrides.empty() ||
                        !arguments.out.empty() || !arguments.name.empty() || !search.method.empty() ||
                        search.trials > 0 || search.is_seeded || search.folds > 0 || search.seeds > 0;
  if (is_given)
    throw Error(
        ExitCode::usage,
        fmt::format("{} resumes as it was begun: -n, --jobs, --time and the flags of placement may change, "
                    "others are for a new one",
                    arguments.files.front()),
        shell_line({"trainer", name_of(arguments.verb), arguments.files.front()}));
}

/// The threads that trials at the same time have if the user chose none.
std::vector<std::string> with_threads(const Arguments& arguments, std::vector<std::string> flags) {
  const int jobs = arguments.search.jobs;
  if (jobs == 1 || arguments.threads > 0 || std::getenv("OMP_NUM_THREADS")) return flags;
  const int processes = jobs * std::max(arguments.search.ranks, 1);
  const int threads = std::max(1, granted_cores(usable_cores()) / processes);
  flags.insert(flags.end(), {"--threads", std::to_string(threads)});
  return flags;
}

}  // namespace

void require_no_launcher(const Job& job) {
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, "a search starts the processes of its trials itself",
                fmt::format("trainer {} -n {} ..., without a launcher", name_of(job.arguments.verb),
                            job.world.size()));
}

OpenSearch open_search(const Job& job, const std::string& parent,
                       const std::function<SearchPlan()>& make_plan) {
  const Arguments& arguments = job.arguments;
  const fs::path path = arguments.files.front();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (!SearchFolder::is_one(path))
      throw Error(ExitCode::usage, fmt::format("{} is not the directory of a search", path.string()),
                  fmt::format("{}/NAME, or a YAML file for a new one", parent));
    refuse_new_flags(arguments);
    SearchFolder folder(path);
    const SearchPlan& plan = folder.plan();
    if (plan.kind != name_of(arguments.verb))
      throw Error(ExitCode::usage, fmt::format("{} is of another command", path.string()),
                  shell_line({"trainer", plan.kind, path.string()}));
    ScoreFacts facts =
        facts_of({.file = folder.config_of(plan.trials.front()).string()}, plan.method == kHalving);
    return {std::move(folder), std::move(facts)};
  }
  const SearchPlan plan = make_plan();
  // First: it refuses more folds than samples, and the configs of so many trials take minutes.
  ScoreFacts facts = facts_of(source_of(plan, plan.trials.front()), plan.method == kHalving);
  const std::vector<std::string> configs = configs_of(plan);
  if (facts.split == "test")
    job.warn(
        "note: trials are compared by test samples; data.validation=0.1 would hold out training samples "
        "for that\n");
  return {SearchFolder(arguments.out, parent, arguments.name.empty() ? path.stem().string() : arguments.name,
                       plan, configs),
          std::move(facts)};
}

std::vector<std::string> trial_flags(const Arguments& arguments) {
  std::vector<std::string> flags = placement_flags(arguments);
  if (arguments.search.ranks > 0) flags.insert(flags.begin(), {"-n", std::to_string(arguments.search.ranks)});
  return flags;
}

void print_at_once(const Job& job, std::string_view text) {
  job.print(text);
  flush_output();
}

TrialRunner make_runner(const Job& job, SearchFolder& folder, const ScoreFacts& facts,
                        const TrialTable& table) {
  const SearchArguments& search = job.arguments.search;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (search.seconds > 0) deadline = job.start + std::chrono::seconds(search.seconds);
  return {folder,
          facts,
          {.flags = with_threads(job.arguments, trial_flags(job.arguments)),
           .jobs = search.jobs,
           .deadline = deadline,
           .on_end = [&](const Trial& trial, const Outcome& outcome) {
             if (job.arguments.quiet) return;
             print_at_once(job, table.line(trial, outcome));
           }}};
}

std::vector<EndedTrial> ended_trials(const SearchPlan& plan, const TrialRunner& runner,
                                     const ScoreFacts& facts) {
  std::vector<EndedTrial> trials;
  for (const Trial& trial : plan.trials)
    if (const auto outcome = runner.outcome(trial)) trials.push_back({trial, *outcome});
  sort_by_score(trials, facts);
  return trials;
}

std::string stopped_text(const SearchFolder& folder, const Arguments& arguments, std::size_t ended) {
  std::vector<std::string> words{"trainer", folder.plan().kind, folder.path().string()};
  const std::vector<std::string> flags = trial_flags(arguments);
  words.insert(words.end(), flags.begin(), flags.end());
  if (arguments.search.jobs > 1) words.insert(words.end(), {"--jobs", std::to_string(arguments.search.jobs)});
  return fmt::format("stopped: {} of {} trials have a result; saved {}\nresume with: {}\n", ended,
                     folder.plan().trials.size(), shell_line({folder.path().string()}), shell_line(words));
}

void fail_with_all(const SearchFolder& folder, const EndedTrial& first) {
  throw Error(static_cast<ExitCode>(first.outcome.code == 0 ? 1 : first.outcome.code),
              {Diagnostic{.what = fmt::format("no trial succeeded; the first one: {}", first.outcome.message),
                          .help = "its output: " + folder.log_of(first.trial).string()}});
}

}  // namespace trainer
