#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/commands/search_steps.h"
#include "cli/search/search_report.h"
#include "cli/search/spread.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "engine/system/stop_signals.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

constexpr int kFolds = 5;

std::string listed_numbers(std::int64_t first, std::int64_t count) {
  std::string text = "[";
  for (std::int64_t i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", first + i);
  return text + "]";
}

SearchPlan plan_of(const Arguments& arguments) {
  const ConfigTree config(config_source(arguments.files, arguments.overrides), run_settings());
  const auto first_seed = config.root().at("train").get<std::int64_t>("seed");
  const int folds = arguments.search.folds > 0 ? arguments.search.folds : kFolds;
  const int seeds = std::max(arguments.search.seeds, 1);
  constexpr std::int64_t kMostRuns = 100'000;
  if (std::int64_t{folds} * seeds > kMostRuns)
    throw Error(ExitCode::usage,
                fmt::format("{} folds x {} seeds are more than {} runs", folds, seeds, grouped(kMostRuns)));
  if (first_seed > std::numeric_limits<std::int64_t>::max() - seeds)
    throw Error(ExitCode::usage, fmt::format("train.seed {} leaves no seeds after it", first_seed),
                "-s train.seed=1");
  SearchPlan plan{.kind = kCrossValidation,
                  .method = fmt::format("{} folds", folds),
                  .seed = static_cast<std::uint64_t>(first_seed),
                  .configs = arguments.files,
                  .settings = arguments.overrides,
                  .spaces = {"train.seed=" + listed_numbers(first_seed, seeds),
                             "data.fold.number=" + listed_numbers(1, folds)},
                  .keys = {"train.seed", "data.fold"}};
  // A validation set of the config gives way to the folds.
  plan.settings.emplace_back("data.validation=0");
  for (std::int64_t seed = first_seed; seed < first_seed + seeds; ++seed)
    for (int fold = 1; fold <= folds; ++fold)
      plan.trials.push_back({.number = static_cast<int>(plan.trials.size()) + 1,
                             .values = {std::to_string(seed), std::to_string(fold)},
                             .settings = {fmt::format("train.seed={}", seed),
                                          fmt::format("data.fold={{number: {}, of: {}}}", fold, folds)}});
  return plan;
}

std::string header(const SearchFolder& folder, const ScoreFacts& facts, int jobs, std::size_t ended) {
  const SearchPlan& plan = folder.plan();
  return fmt::format(
      "cv            {}: {}, {}{}\nscores        of the best epoch by {}\ndirectory     {}{}\n",
      shell_line(plan.configs), plan.method, counted(std::ssize(plan.trials), "run"),
      jobs > 1 ? fmt::format(", {} at a time", jobs) : "", facts.name(), folder.path().string(),
      ended > 0 ? fmt::format(", resumes: {} of {} have a result", ended, plan.trials.size()) : "");
}

/// The table in the order of the trials, and below it mean and deviation.
std::string result_text(const TrialTable& table, std::vector<EndedTrial> trials,
                        const std::vector<Spread>& spreads, const ScoreFacts& facts) {
  std::ranges::sort(trials, {}, [](const EndedTrial& one) { return one.trial.number; });
  std::string text = "\n" + table.heading();
  for (const auto& [trial, outcome] : trials) text += table.line(trial, outcome);
  return text + spread_lines(table, spreads, facts);
}

}  // namespace

int cv_command(const Job& job) {
  require_no_launcher(job);
  const StopSignals signals(true);
  const Arguments& arguments = job.arguments;
  auto [folder, facts] = open_search(job, kCrossValidation, [&] { return plan_of(job.arguments); });
  const SearchPlan& plan = folder.plan();
  const TrialTable table(plan, facts);
  TrialRunner runner = make_runner(job, folder, facts, table);
  if (!arguments.quiet)
    print_at_once(
        job, header(folder, facts, arguments.search.jobs, ended_trials(plan, runner, facts).size()) + "\n" +
                 table.heading());
  const bool is_complete = runner.run(plan.trials, 1);
  const std::vector<EndedTrial> trials = ended_trials(plan, runner, facts);
  const auto failed =
      std::ranges::find_if(trials, [](const EndedTrial& one) { return one.outcome.has_failed(); });
  if (is_complete && failed == trials.begin()) fail_with_all(folder, trials.front());
  if (!trials.empty() && failed != trials.begin()) {
    const auto succeeded = static_cast<std::size_t>(failed - trials.begin());
    const std::vector<Spread> spreads = spreads_of(trials, facts);
    const std::string result = result_text(table, trials, spreads, facts);
    // First what took hours; a file may fail.
    job.print(result + fmt::format("\nmean and standard deviation of {}\n",
                                   counted(static_cast<std::int64_t>(succeeded), "run")));
    write_file(folder.path() / "trials.csv", trials_csv(plan, trials, facts));
    write_file(folder.path() / "summary.csv", spread_csv(spreads, succeeded));
    write_file(folder.path() / "report.html",
               search_report_html(folder, trials, facts, {"Mean and deviation", result}));
    job.print(fmt::format("saved {}   view: report.html\n", shell_line({folder.path().string()})));
  }
  if (!is_complete) {
    job.warn(stopped_text(folder, arguments, trials.size()));
    return static_cast<int>(ExitCode::interrupted);
  }
  if (failed == trials.end()) return 0;
  throw Error(static_cast<ExitCode>(failed->outcome.code == 0 ? 1 : failed->outcome.code),
              {Diagnostic{.what = fmt::format("{} of {} runs failed, and the mean is that of the others",
                                              trials.end() - failed, trials.size()),
                          .help = "the output of the first one: " + folder.log_of(failed->trial).string()}});
}

}  // namespace trainer
