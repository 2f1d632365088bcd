#include "cli/search/outcome.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/reports/run_log.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The first error in the last of the outputs that `log` holds.
std::string last_error(const fs::path& log) {
  constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 30;
  const std::string text = read_file(log, ExitCode::failure, kLargestLog), word = "error: ";
  const std::size_t begin = text.rfind("\n" + word);
  const std::size_t at = begin != std::string::npos ? begin + 1 : text.starts_with(word) ? 0 : text.size();
  const std::size_t end = std::min(text.find('\n', at), text.size());
  return at == text.size() ? "" : text.substr(at + word.size(), end - at - word.size());
}

/// The scores of a row in the order loss, then `facts.metrics`; empty if it lacks the deciding one.
std::vector<double> scores_of(const RunLog& log, const RunLog::Row& row, const ScoreFacts& facts) {
  std::vector<double> scores;
  const auto add = [&](const std::string& name) {
    double score = kNan;
    for (std::size_t i = 0; i < log.names.size(); ++i)
      if (log.names[i] == name) score = row.scores[i];
    scores.push_back(score);
  };
  add("loss");
  for (const MetricFacts& metric : facts.metrics) add(metric.name);
  return scores;
}

std::string failure_text(int code, const fs::path& log) {
  if (std::string error = last_error(log); !error.empty()) return error;
  return code > 128 ? "ended by signal " + std::to_string(code - 128) : "";
}

}  // namespace

bool ScoreFacts::is_better(double one, double other) const {
  if (std::isnan(one) || std::isnan(other)) return !std::isnan(one);
  return !metrics.empty() && metrics[0].higher_is_better ? one > other : one < other;
}

std::string ScoreFacts::name() const { return split + " " + (metrics.empty() ? "loss" : metrics[0].name); }

Outcome outcome_of(const fs::path& run, const fs::path& log, int code, double share,
                   const ScoreFacts& facts) {
  Outcome outcome{.code = code, .share = share};
  const bool is_complete = code == 0 || code == static_cast<int>(ExitCode::interrupted);
  if (code == 0) outcome.share = 1;
  if (!is_complete) {
    outcome.message = failure_text(code, log);
    return outcome;
  }
  const RunLog metrics = read_run_log(run);
  for (const RunLog::Row& row : metrics.rows) {
    outcome.epochs = std::max(outcome.epochs, row.epoch);
    if (row.is_training) continue;
    std::vector<double> scores = scores_of(metrics, row, facts);
    const Outcome now{.scores = scores};
    if (std::isnan(now.score()) || (!outcome.has_failed() && !facts.is_better(now.score(), outcome.score())))
      continue;
    outcome.scores = std::move(scores);
    outcome.best_epoch = row.epoch;
  }
  if (outcome.has_failed()) outcome.message = "no evaluation gave a " + facts.name();
  return outcome;
}

std::string line_of(int trial, const Outcome& outcome, const ScoreFacts& facts) {
  Json line{{"trial", trial}, {"share", outcome.share}, {"code", outcome.code}};
  if (!outcome.message.empty()) line["message"] = outcome.message;
  if (!outcome.has_failed()) {
    line["epochs"] = outcome.epochs;
    line["best_epoch"] = outcome.best_epoch;
    for (std::size_t i = 0; i < outcome.scores.size(); ++i)
      line[i == 0 ? "loss" : facts.metrics[i - 1].name] = outcome.scores[i];
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ReadOutcome> outcome_of_line(std::string_view text, const ScoreFacts& facts) {
  const Json line = Json::parse(text, nullptr, false);
  const auto is_whole = [&](const char* key) { return line.contains(key) && line[key].is_number_integer(); };
  if (!line.is_object() || !is_whole("trial") || !is_whole("code") || !line.contains("share") ||
      !line["share"].is_number())
    return std::nullopt;
  ReadOutcome read{.trial = line["trial"].get<int>(),
                   .outcome = {.code = line["code"].get<int>(), .share = line["share"].get<double>()}};
  if (line.contains("message") && line["message"].is_string()) read.outcome.message = line["message"];
  if (!line.contains("loss") || !is_whole("epochs") || !is_whole("best_epoch")) return read;
  read.outcome.epochs = line["epochs"].get<std::int64_t>();
  read.outcome.best_epoch = line["best_epoch"].get<std::int64_t>();
  const auto add = [&](const std::string& name) {
    const auto found = line.find(name);
    read.outcome.scores.push_back(found != line.end() && found->is_number() ? found->get<double>() : kNan);
  };
  add("loss");
  for (const MetricFacts& metric : facts.metrics) add(metric.name);
  return read;
}

}  // namespace trainer
