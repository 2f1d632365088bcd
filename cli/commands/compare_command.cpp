#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/find_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/comparison.h"
#include "cli/search/search_folder.h"
#include "cli/terminal/text.h"
#include "engine/config/config_tree.h"
#include "engine/core/escape.h"
#include "engine/system/files.h"
#include "models/metrics/metric.h"
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
      row[1] = grouped(std::max(last.step, log.last_step));
      row[2] = seconds_text(last.time);
      row[3] = number_or_nothing(last.examples_per_second);
    }
    if (const RunLog::Row* best = log.best_evaluation()) {
      row[4] = log.evaluation_split;
      row[5] = grouped(best->step);
      for (std::size_t i = 0; i < log.names.size(); ++i) {
        const auto column = std::find(scores.begin(), scores.end(), log.names[i]) - scores.begin();
        row[6 + static_cast<std::size_t>(column)] =
            std::isnan(best->scores[i]) ? kNothing : log.score_text(i, best->scores[i]);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// A row for each setting that differs, with its value in each run.
Rows settings_rows(const std::vector<ComparedRun>& runs, const std::vector<ConfigDifference>& found,
                   std::size_t widest) {
  Rows rows{{"setting"}};
  for (const ComparedRun& run : runs) rows.front().push_back(run.name);
  for (const ConfigDifference& difference : found) {
    rows.push_back({difference.path});
    for (const std::string& value : difference.values)
      rows.back().push_back(value.empty() ? kNothing : shortened(value, widest));
  }
  return rows;
}

/// The part of a long text, such as a list of layers, that is around the place where it differs from others:
/// at most `most` columns.
std::string around(const std::string& text, std::size_t place, std::size_t most) {
  const std::string before = "... ";
  if (columns_of(text) <= most || place <= most / 2) return shortened(text, most);
  std::size_t begin = place - most / 4;
  while (begin < text.size() && (text[begin] & 0xC0) == 0x80) ++begin;  // within a character
  return before + shortened(text.substr(begin), most - before.size());
}

/// The runs of each text: "  4 ranks on a: runs/a, runs/b"
std::string groups_text(const std::vector<ComparedRun>& runs, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> groups;  // a text, and the names of its runs
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto known = std::ranges::find(groups, texts[i], &std::pair<std::string, std::string>::first);
    if (known == groups.end())
      groups.emplace_back(texts[i], runs[i].name);
    else
      known->second += ", " + runs[i].name;
  }
  std::size_t place = groups.front().first.size();  // where they differ
  for (const auto& [text, names] : groups)
    place =
        std::min<std::size_t>(place, std::ranges::mismatch(text, groups.front().first).in1 - text.begin());
  constexpr std::size_t kIndent = 4, kLongName = 24;
  std::string lines;
  for (const auto& [text, names] : groups) {
    const std::size_t name = columns_of(escaped(names.substr(0, names.find(", ")))) + 1;  // with its comma
    const std::size_t room = kTextColumns - kIndent - (name > kLongName ? 0 : name);
    const std::string value = text.empty() ? kNothing : escaped(around(text, place, room));
    const std::size_t begin = columns_of(value) + kIndent;
    const bool is_below = begin + name > kTextColumns;
    lines += "  " + value + (is_below ? ":\n" + std::string(kIndent, ' ') : ": ") +
             wrapped(escaped(names), is_below ? kIndent : begin, kIndent, kTextColumns) + "\n";
  }
  return lines;
}

/// As a table; where that is too wide for a terminal, the runs of each value.
std::string settings_text(const std::vector<ComparedRun>& runs, const std::vector<ConfigDifference>& found) {
  constexpr std::size_t kWidest = 48;
  if (found.empty()) return "all settings are the same\n";
  const Rows rows = settings_rows(runs, found, kWidest);
  const std::string text = table(rows, rows.front().size());
  bool is_wide = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) is_wide = is_wide || columns_of(line) > kTextColumns;
  if (!is_wide) return text;
  std::string list;
  for (const ConfigDifference& difference : found)
    list += escaped(difference.path) + "\n" + groups_text(runs, difference.values);
  return list;
}

/// An object a line for each run.
std::string json_lines(const std::vector<ComparedRun>& runs, const std::vector<ConfigDifference>& found) {
  using Json = nlohmann::ordered_json;
  std::string lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunLog& log = runs[i].log;
    Json line{{"run", runs[i].name}};
    if (!log.rows.empty()) {
      line["steps"] = std::max(log.rows.back().step, log.last_step);
      line["time"] = log.rows.back().time;
      line["examples_per_second"] = log.rows.back().examples_per_second;
    }
    if (const RunLog::Row* best = log.best_evaluation()) {
      line["split"] = log.evaluation_split;
      line["best_step"] = best->step;
      for (std::size_t k = 0; k < log.names.size(); ++k) line["scores"][log.names[k]] = best->scores[k];
    }
    line["machine"] = runs[i].machine;
    line["settings"] = Json::object();
    for (const ConfigDifference& difference : found) line["settings"][difference.path] = difference.values[i];
    lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
}

/// What chooses the best weights of a run: its first metric, else the loss.
struct DecidingScore {
  std::string name = "loss";
  bool rises = false;
  bool operator==(const DecidingScore&) const = default;
};
DecidingScore deciding_score(const Config& root) {
  const std::vector<Config> metrics = root.at("train").items("metrics");
  if (metrics.empty()) return {};
  const auto metric = Registry<Metric>::make(metrics.front());
  return {metric->name(), metric->higher_is_better()};
}

/// The order of runs by their scores, the best first; as they stand where they have other scores.
std::vector<std::size_t> order_of(const std::vector<ComparedRun>& runs,
                                  const std::vector<ConfigTree>& configs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> losses;  // the less, the better
  losses.reserve(runs.size());
  const DecidingScore deciding = deciding_score(configs.front().root());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (deciding_score(configs[i].root()) != deciding) return order;
    const RunLog& log = runs[i].log;
    const RunLog::Row* const best = log.best_evaluation();
    const auto found = std::ranges::find(log.names, deciding.name);
    const double score = best == nullptr || found == log.names.end()
                             ? std::numeric_limits<double>::quiet_NaN()
                             : best->scores[static_cast<std::size_t>(found - log.names.begin())];
    losses.push_back(std::isnan(score) ? std::numeric_limits<double>::infinity()
                     : deciding.rises  ? -score
                                       : score);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return losses[i]; });
  return order;
}

/// The runs that the paths name: run directories, folders of them, by name, or the trials of a search.
std::vector<std::string> run_paths(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string& named : paths) {
    const std::string path = SearchFolder::is_one(named) ? (fs::path(named) / "trials").string() : named;
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
    std::vector<ComparedRun> read;
    std::vector<ConfigTree> configs;
    for (const std::string& name : run_paths(job.arguments.files)) {
      const std::filesystem::path run = run_directory_of(name);
      const std::filesystem::path environment = run / "environment.json";
      std::error_code ignored;
      read.push_back({name, read_run_log(run),
                      std::filesystem::exists(environment, ignored)
                          ? machine_text(read_file(environment, ExitCode::failure, 1 << 20))
                          : ""});
      configs.emplace_back(ConfigSource{.file = (run / "config.yaml").string()}, run_settings());
    }
    std::vector<ComparedRun> runs;
    std::vector<ConfigTree> sorted;
    runs.reserve(read.size());
    sorted.reserve(read.size());
    for (const std::size_t i : order_of(read, configs)) {
      runs.push_back(std::move(read[i]));
      sorted.push_back(std::move(configs[i]));
    }
    const std::vector<ConfigDifference> found = differences(sorted);
    constexpr std::size_t kWidestInPage = 400;
    if (const std::string& page = job.arguments.html; !page.empty()) {
      write_file(page, comparison_html(runs, results_rows(runs), settings_rows(runs, found, kWidestInPage)));
      text = escaped(page) + "\n";
      return;
    }
    if (job.arguments.json) {
      text = json_lines(runs, found);
      return;
    }
    text = table(results_rows(runs), 1);
    if (runs.size() > 1) text += "\n" + settings_text(runs, found);
    std::vector<std::string> machines;
    machines.reserve(runs.size());
    for (const ComparedRun& run : runs) machines.push_back(run.machine);
    text += "\nmachines\n" + groups_text(runs, machines);
  });
  job.arguments.json ? job.print_as_it_is(text) : job.print(text);
}

}  // namespace trainer
