#include "cli/reports/run_log.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal/text.h"
#include "engine/config/config_tree.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/metrics/metric.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 32;

double number_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

/// The keys of loss and metrics: all keys of a line except those that every line has.
std::vector<std::string> score_names(const Json& line) {
  const std::set<std::string> common{
      "step",       "epoch",      "split",        "lr",   "examples_per_second",
      "comm_share", "wait_share", "data_share",   "time", "compression_error",
      "slow_rank",  "staleness",  "staleness_max"};
  std::vector<std::string> names;
  for (const auto& [key, value] : line.items())
    if (!common.contains(key) && (value.is_number() || value.is_null())) names.push_back(key);
  return names;
}

/// Empty unless `value` is a square of numbers.
std::vector<std::vector<double>> square(const Json& value) {
  std::vector<std::vector<double>> rows;
  if (!value.is_array()) return {};
  for (const Json& row : value) {
    if (!row.is_array() || row.size() != value.size()) return {};
    rows.emplace_back();
    for (const Json& count : row) {
      if (!count.is_number()) return {};
      rows.back().push_back(count.get<double>());
    }
  }
  return rows;
}

void add_line(const Json& line, RunLog& log) {
  const auto split = line.find("split");
  if (split == line.end() || (*split != "train" && *split != "valid" && *split != "test")) return;
  if (!line.contains("step") || !line["step"].is_number_integer()) return;
  if (log.names.empty()) log.names = score_names(line);
  RunLog::Row row{.step = line["step"].get<std::int64_t>(),
                  .is_training = *split == "train",
                  .rate = number_at(line, "lr"),
                  .examples_per_second = number_at(line, "examples_per_second"),
                  .comm_share = number_at(line, "comm_share"),
                  .wait_share = number_at(line, "wait_share"),
                  .data_share = number_at(line, "data_share"),
                  .time = number_at(line, "time"),
                  .slow_rank = number_at(line, "slow_rank")};
  if (line.contains("epoch") && line["epoch"].is_number_integer())
    row.epoch = line["epoch"].get<std::int64_t>();
  for (const std::string& name : log.names) row.scores.push_back(number_at(line, name.c_str()));
  log.rows.push_back(std::move(row));
  if (log.rows.back().is_training) return;
  log.evaluation_split = split->get<std::string>();
  log.tables.clear();
  for (const auto& [key, value] : line.items())
    if (auto counts = square(value); !counts.empty())
      log.tables.push_back({.name = key, .counts = std::move(counts)});
}

/// Of the metrics in config.yaml; none where that cannot be read.
std::set<std::string> fractions(const fs::path& run) {
  std::set<std::string> names;
  std::error_code ignored;
  if (!fs::exists(run / "config.yaml", ignored)) return names;
  try {
    const ConfigTree tree({.file = (run / "config.yaml").string()}, run_settings());
    for (const Config& config : tree.root().at("train").items("metrics"))
      if (const auto metric = Registry<Metric>::make(config); metric->is_fraction())
        names.insert(metric->name());
  } catch (const Error&) {
  }
  return names;
}

}  // namespace

std::string RunLog::score_text(std::size_t i, double value) const {
  return fractions.contains(names[i]) ? fraction_text(value) : short_number(value);
}

const RunLog::Row* RunLog::best_evaluation() const {
  const auto find = [&](auto matches) -> const Row* {
    const auto row = std::find_if(rows.rbegin(), rows.rend(), matches);
    return row == rows.rend() ? nullptr : &*row;
  };
  const Row* best = find([&](const Row& row) { return !row.is_training && row.step == best_step; });
  return best ? best : find([](const Row& row) { return !row.is_training; });
}

RunLog read_run_log(const fs::path& run) {
  RunLog log{.fractions = fractions(run),
             .best_step = step_behind(run / "checkpoints" / "best"),
             .last_step = step_behind(run / "checkpoints" / "last")};
  std::error_code ignored;
  if (!fs::exists(run / "metrics.jsonl", ignored)) return log;
  const std::string text = read_file(run / "metrics.jsonl", ExitCode::failure, kLargestFile);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_object()) add_line(line, log);
    begin = end + 1;
  }
  // Lines before the first that has scores have none.
  for (RunLog::Row& row : log.rows)
    row.scores.resize(log.names.size(), std::numeric_limits<double>::quiet_NaN());
  return log;
}

std::vector<RunLog::Table> confusion_of(const std::string& samples) {
  const Json json = Json::parse(samples, nullptr, false);
  if (!json.is_object() || !json.contains("confusion")) return {};
  auto counts = square(json["confusion"]);
  if (counts.empty()) return {};
  return {{.name = "confusion", .evaluation = "best evaluation", .counts = std::move(counts)}};
}

}  // namespace trainer
