#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/commands/find_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/comparison.h"
#include "cli/terminal/text.h"
#include "engine/config/config_tree.h"
#include "engine/core/escape.h"
#include "engine/system/files.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

constexpr const char* kNothing = "-";

std::string number_or_nothing(double number) { return std::isnan(number) ? kNothing : short_number(number); }

using Rows = std::vector<std::vector<std::string>>;

/// A row for each run: its length, and the scores of its best weights.
Rows results_rows(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> scores;
  for (const ComparedRun& run : runs)
    for (const std::string& name : run.log.names)
      if (std::count(scores.begin(), scores.end(), name) == 0) scores.push_back(name);
  Rows rows{{"run", "steps", "time", "examples/s", "scored", "at step"}};
  rows.front().insert(rows.front().end(), scores.begin(), scores.end());
  for (const auto& [name, log, machine] : runs) {
    std::vector<std::string> row(rows.front().size(), kNothing);
    row[0] = name;
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
  return rows;
}

/// A row for each setting that differs, with its value in each run; `widest`: longer ones are cut.
Rows settings_rows(const std::vector<ComparedRun>& runs, const std::vector<ConfigTree>& configs,
                   std::size_t widest) {
  const std::vector<ConfigDifference> found = differences(configs);
  Rows rows{{"setting"}};
  for (const ComparedRun& run : runs) rows.front().push_back(run.name);
  for (const ConfigDifference& difference : found) {
    rows.push_back({difference.path});
    for (const std::string& value : difference.values) {
      rows.back().push_back(value.empty()            ? kNothing
                            : value.size() <= widest ? value
                                                     : value.substr(0, widest - 4) + " ...");
    }
  }
  return rows;
}

std::string settings_text(const Rows& rows) {
  return rows.size() > 1 ? table(rows, rows.front().size()) : "all settings are the same\n";
}

/// The runs that the paths name: run directories, or folders of them, by name.
std::vector<std::string> run_paths(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::vector<std::string> inside;
    std::error_code error;
    if (fs::is_directory(path, error) && !fs::exists(fs::path(path) / "config.yaml", error))
      for (const auto& entry : fs::directory_iterator(path, error))
        if (fs::exists(entry.path() / "config.yaml", error)) inside.push_back(entry.path().string());
    std::ranges::sort(inside);
    if (inside.empty()) inside = {path};  // find_run() reports what it is not
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

}  // namespace

void compare_command(const Job& job) {
  std::string text;
  run_collectively(job.world, [&] {
    if (job.world.rank() != 0) return;
    std::vector<ComparedRun> runs;
    std::vector<ConfigTree> configs;
    for (const std::string& name : run_paths(job.arguments.files)) {
      const std::filesystem::path run = find_run(name).run;
      const std::filesystem::path environment = run / "environment.json";
      std::error_code ignored;
      runs.push_back({name, read_run_log(run),
                      std::filesystem::exists(environment, ignored)
                          ? machine_text(read_file(environment, ExitCode::failure, 1 << 20))
                          : ""});
      configs.emplace_back(ConfigSource{.file = (run / "config.yaml").string()}, run_settings());
    }
    constexpr std::size_t kInTerminal = 48, kInPage = 400;
    if (const std::string& page = job.arguments.html; !page.empty()) {
      write_file(page, comparison_html(runs, results_rows(runs), settings_rows(runs, configs, kInPage)));
      text = escaped(page) + "\n";
      return;
    }
    text = table(results_rows(runs), 1);
    if (runs.size() > 1) text += "\n" + settings_text(settings_rows(runs, configs, kInTerminal));
  });
  job.print(text);
}

}  // namespace trainer
