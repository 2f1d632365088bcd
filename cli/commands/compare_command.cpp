#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands/commands.h"
#include "cli/commands/find_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/run_log.h"
#include "cli/terminal/text.h"
#include "engine/config/config_tree.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

constexpr const char* kNothing = "-";

std::string number_or_nothing(double number) { return std::isnan(number) ? kNothing : short_number(number); }

/// A row for each run: its length, and the scores of its best weights.
std::string results_table(const std::vector<std::string>& names, const std::vector<RunLog>& logs) {
  std::vector<std::string> scores;
  for (const RunLog& log : logs)
    for (const std::string& name : log.names)
      if (std::count(scores.begin(), scores.end(), name) == 0) scores.push_back(name);
  std::vector<std::vector<std::string>> rows{{"run", "steps", "time", "examples/s", "scored", "at step"}};
  rows.front().insert(rows.front().end(), scores.begin(), scores.end());
  for (std::size_t run = 0; run < logs.size(); ++run) {
    const RunLog& log = logs[run];
    std::vector<std::string> row(rows.front().size(), kNothing);
    row[0] = names[run];
    if (!log.rows.empty()) {
      const RunLog::Row& last = log.rows.back();
      row[1] = grouped(last.step);
      row[2] = seconds_text(last.time);
      row[3] = number_or_nothing(last.examples_per_second);
    }
    if (const RunLog::Row* best = log.best_evaluation()) {
      row[4] = log.evaluation_split;
      row[5] = grouped(best->step);
      for (std::size_t i = 0; i < log.names.size(); ++i) {
        const auto column = std::find(scores.begin(), scores.end(), log.names[i]) - scores.begin();
        row[6 + static_cast<std::size_t>(column)] = number_or_nothing(best->scores[i]);
      }
    }
    rows.push_back(std::move(row));
  }
  return table(rows, 1);
}

std::string settings_table(const std::vector<std::string>& names, const std::vector<ConfigTree>& configs) {
  const std::vector<ConfigDifference> found = differences(configs);
  if (found.empty()) return "all settings are the same\n";
  std::vector<std::vector<std::string>> rows{{"setting"}};
  rows.front().insert(rows.front().end(), names.begin(), names.end());
  for (const ConfigDifference& difference : found) {
    rows.push_back({difference.path});
    for (const std::string& value : difference.values) {
      constexpr std::size_t kWidest = 48;
      rows.back().push_back(value.empty()             ? kNothing
                            : value.size() <= kWidest ? value
                                                      : value.substr(0, kWidest - 4) + " ...");
    }
  }
  return table(rows, rows.front().size());
}

}  // namespace

void compare_command(const Job& job) {
  const std::vector<std::string>& names = job.arguments.files;
  std::string text;
  run_collectively(job.world, [&] {
    if (job.world.rank() != 0) return;
    std::vector<RunLog> logs;
    std::vector<ConfigTree> configs;
    for (const std::string& name : names) {
      const std::filesystem::path run = find_run(name).run;
      logs.push_back(read_run_log(run));
      configs.emplace_back(ConfigSource{.file = (run / "config.yaml").string()}, run_settings());
    }
    text = results_table(names, logs);
    if (names.size() > 1) text += "\n" + settings_table(names, configs);
  });
  job.print(text);
}

}  // namespace trainer
