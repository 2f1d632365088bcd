#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/commands/search_steps.h"
#include "cli/search/draw.h"
#include "cli/search/search_report.h"
#include "cli/search/trial_table.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "engine/system/stop_signals.h"

namespace trainer {
namespace {

constexpr std::int64_t kTrials = 20;

SearchPlan plan_of(const Arguments& arguments) {
  SearchPlan plan{.kind = "sweep", .seed = arguments.search.seed, .configs = arguments.files};
  std::vector<Space> spaces;
  for (const std::string& setting : arguments.overrides) {
    const std::optional<Space> space = Space::parse(setting);
    (space ? plan.spaces : plan.settings).push_back(setting);
    if (!space) continue;
    if (std::ranges::count(plan.keys, space->key()) > 0)
      throw Error(ExitCode::usage, {Diagnostic{.what = fmt::format("`{}` has two spaces", space->key()),
                                               .place = "-s " + setting}});
    spaces.push_back(*space);
    plan.keys.push_back(space->key());
  }
  if (spaces.empty()) {
    // A misspelt directory of a sweep is a file that cannot be read.
    const ConfigTree config(config_source(arguments.files, plan.settings), run_settings());
    throw Error(ExitCode::usage, "a sweep needs a key with several values",
                "-s 'train.optimizer.sgd.lr=log(1e-3,1e-1)' or -s train.batch=[32,64]");
  }
  const bool has_points = std::ranges::none_of(spaces, [](const Space& one) { return one.points().empty(); });
  plan.method = arguments.search.method;
  if (plan.method.empty()) plan.method = has_points && arguments.search.trials == 0 ? "grid" : "random";
  if (plan.method == "grid" && arguments.search.trials > 0)
    throw Error(ExitCode::usage, "a grid has as many trials as its spaces have combinations",
                "remove --trials, or --method random");
  const std::int64_t count = arguments.search.trials > 0 ? arguments.search.trials : kTrials;
  const auto values = plan.method == "grid" ? grid_trials(spaces) : random_trials(spaces, count, plan.seed);
  for (const TrialValues& of_trial : values) {
    Trial trial{.number = static_cast<int>(plan.trials.size()) + 1, .values = of_trial};
    for (std::size_t i = 0; i < of_trial.size(); ++i)
      trial.settings.push_back(plan.keys[i] + "=" + of_trial[i]);
    plan.trials.push_back(std::move(trial));
  }
  return plan;
}

std::vector<Rung> rungs_of(const SearchPlan& plan) {
  const std::int64_t trials = std::ssize(plan.trials);
  if (plan.method != kHalving) return {{.share = 1, .trials = trials}};
  return halving_rungs(trials);
}

std::string header(const SearchFolder& folder, const ScoreFacts& facts, int jobs, std::size_t ended) {
  const SearchPlan& plan = folder.plan();
  std::string text = fmt::format(
      "sweep         {}: {}, {}{}\n", shell_line(plan.configs), counted(std::ssize(plan.trials), "trial"),
      plan.method == "grid" ? "all combinations" : fmt::format("{}, seed {}", plan.method, plan.seed),
      jobs > 1 ? fmt::format(", {} at a time", jobs) : "");
  if (plan.method == kHalving) {
    text += "rungs         ";
    for (const Rung& rung : rungs_of(plan))
      text += fmt::format("{}{} to {:.0f}%", rung.share == rungs_of(plan).front().share ? "" : ", ",
                          counted(rung.trials, "trial"), 100 * rung.share);
    text += " of the steps\n";
  }
  for (std::size_t i = 0; i < plan.spaces.size(); ++i)
    text += (i == 0 ? "spaces        " : "              ") + plan.spaces[i] + "\n";
  text += "compared by   " + facts.name() + " of the best epoch\n";
  return text + fmt::format("directory     {}{}\n", folder.path().string(),
                            ended > 0
                                ? fmt::format(", resumes: {} of {} have a result", ended, plan.trials.size())
                                : "");
}

std::string command_of(const SearchPlan& plan, const Trial& trial, const std::vector<std::string>& flags) {
  std::vector<std::string> words{"trainer"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), plan.configs.begin(), plan.configs.end());
  for (const auto* settings : {&plan.settings, &trial.settings})
    for (const std::string& setting : *settings) words.insert(words.end(), {"-s", setting});
  return shell_line(words);
}

/// Trains the trials, rung after rung; of each rung the best ones continue. False if it was stopped.
bool run_rungs(TrialRunner& runner, const SearchPlan& plan, const ScoreFacts& facts) {
  std::vector<Trial> trials = plan.trials;
  const std::vector<Rung> rungs = rungs_of(plan);
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    if (!runner.run(trials, rungs[i].share)) return false;
    if (i + 1 == rungs.size()) break;
    std::vector<EndedTrial> ended;
    for (const Trial& trial : trials) {
      ended.push_back({trial, runner.outcome_at(trial, rungs[i].share)});
      // A run that ended early by itself has no advantage here.
      ended.back().outcome.share = rungs[i].share;
    }
    sort_by_score(ended, facts);
    trials.clear();
    for (const EndedTrial& one : ended)
      if (!one.outcome.has_failed() && std::ssize(trials) < rungs[i + 1].trials) trials.push_back(one.trial);
  }
  return true;
}

std::string result_text(const SearchFolder& folder, const TrialTable& table,
                        const std::vector<EndedTrial>& trials, const ScoreFacts& facts,
                        const std::string& command) {
  constexpr std::size_t kMostRows = 30;
  std::string text = "\n" + table.heading();
  for (std::size_t i = 0; i < std::min(trials.size(), kMostRows); ++i)
    text += table.line(trials[i].trial, trials[i].outcome);
  if (trials.size() > kMostRows)
    text +=
        fmt::format("{} more in {}\n", trials.size() - kMostRows, (folder.path() / "trials.csv").string());
  const auto& [best, outcome] = trials.front();
  if (outcome.has_failed()) return text;
  const std::string score =
      facts.metrics.empty() ? loss_text(outcome.score()) : metric_text(facts.metrics[0], outcome.score(), 2);
  return text + fmt::format("\nbest  trial {}, epoch {}: {} {}\n      {}\n      config: {}\n", best.number,
                            outcome.best_epoch, facts.name(), score, command,
                            shell_line({folder.config_of(best).string()}));
}

}  // namespace

int sweep_command(const Job& job) {
  require_no_launcher(job);
  const StopSignals signals(true);
  const Arguments& arguments = job.arguments;
  auto [folder, facts] = open_search(job, "sweeps", [&] { return plan_of(job.arguments); });
  const SearchPlan& plan = folder.plan();
  const TrialTable table(plan, facts);
  TrialRunner runner = make_runner(job, folder, facts, table);
  if (!arguments.quiet)
    print_at_once(
        job, header(folder, facts, arguments.search.jobs, ended_trials(plan, runner, facts).size()) + "\n" +
                 table.heading());
  const bool is_complete = run_rungs(runner, plan, facts);
  const std::vector<EndedTrial> trials = ended_trials(plan, runner, facts);
  if (!trials.empty()) {
    const bool has_best = !trials.front().outcome.has_failed();
    const std::string command =
        has_best ? command_of(plan, trials.front().trial, trial_flags(arguments)) : "";
    // First what took hours; a file may fail.
    job.print(result_text(folder, table, trials, facts, command));
    write_file(folder.path() / "trials.csv", trials_csv(plan, trials, facts));
    write_file(folder.path() / "report.html",
               search_report_html(folder, trials, facts, {"The best trial again", command}));
    if (has_best)
      job.print(fmt::format("saved {}   view: report.html   use: {}\n", shell_line({folder.path().string()}),
                            shell_line({"trainer", "eval", folder.run_of(trials.front().trial).string()})));
    if (is_complete && !has_best) fail_with_all(folder, trials.front());
  }
  if (is_complete) return 0;
  job.warn(stopped_text(folder, arguments, trials.size()));
  return static_cast<int>(ExitCode::interrupted);
}

}  // namespace trainer
