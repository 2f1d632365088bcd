#include "cli/search/trial_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/search/space.h"
#include "cli/terminal/text.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

std::string failure_text(const Outcome& outcome) {
  return fmt::format("failed with code {}{}{}", outcome.code, outcome.message.empty() ? "" : ": ",
                     outcome.message);
}

}  // namespace

void sort_by_score(std::vector<EndedTrial>& trials, const ScoreFacts& facts) {
  std::ranges::sort(trials, [&](const EndedTrial& a, const EndedTrial& b) {
    const Outcome &one = a.outcome, &other = b.outcome;
    if (one.has_failed() != other.has_failed()) return other.has_failed();
    if (one.has_failed()) return a.trial.number < b.trial.number;
    if (one.share != other.share) return one.share > other.share;
    if (facts.is_better(one.score(), other.score())) return true;
    if (facts.is_better(other.score(), one.score())) return false;
    return a.trial.number < b.trial.number;
  });
}

TrialTable::TrialTable(const SearchPlan& plan, const ScoreFacts& facts) : facts_(facts), titles_{"trial"} {
  constexpr std::size_t kScoreWidth = 7, kWidest = 24;
  for (const std::string& name : short_names(plan.keys)) titles_.push_back(name);
  titles_.insert(titles_.end(), {"epochs", "best at", facts.split + " loss"});
  for (const MetricFacts& metric : facts.metrics) titles_.push_back(facts.split + " " + metric.short_name);
  for (const std::string& title : titles_) widths_.push_back(std::max(columns_of(title), kScoreWidth - 2));
  for (const Trial& trial : plan.trials)
    for (std::size_t i = 0; i < trial.values.size(); ++i)
      widths_[1 + i] = std::max(widths_[1 + i], std::min(columns_of(escaped(trial.values[i])), kWidest));
}

std::string TrialTable::joined(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = escaped(cells[i]);
    const std::size_t columns = columns_of(cell);
    if (i > 0) line += "  ";
    if (columns < widths_[i]) line += std::string(widths_[i] - columns, ' ');
    line += cell;
  }
  return line;
}

std::string TrialTable::heading() const { return joined(titles_) + "\n"; }

std::vector<std::string> TrialTable::cells(const Trial& trial, const Outcome& outcome) const {
  std::vector<std::string> cells{std::to_string(trial.number)};
  cells.insert(cells.end(), trial.values.begin(), trial.values.end());
  if (outcome.has_failed()) return cells;
  cells.insert(cells.end(),
               {grouped(outcome.epochs), grouped(outcome.best_epoch), loss_text(outcome.scores[0])});
  for (std::size_t i = 0; i < facts_.metrics.size(); ++i)
    cells.push_back(metric_text(facts_.metrics[i], outcome.scores[i + 1], 2));
  return cells;
}

std::string TrialTable::line(const Trial& trial, const Outcome& outcome) const {
  return joined(cells(trial, outcome)) + (outcome.has_failed() ? "  " + escaped(failure_text(outcome)) : "") +
         "\n";
}

std::string trials_csv(const SearchPlan& plan, const std::vector<EndedTrial>& trials,
                       const ScoreFacts& facts) {
  std::string text = "trial";
  for (const std::string& key : plan.keys) text += "," + csv_field(key);
  text += fmt::format(",code,share,epochs,best_epoch,{}/loss", facts.split);
  for (const MetricFacts& metric : facts.metrics) text += fmt::format(",{}/{}", facts.split, metric.name);
  text += ",message\n";
  for (const auto& [trial, outcome] : trials) {
    text += std::to_string(trial.number);
    for (const std::string& value : trial.values) text += "," + csv_field(value);
    text += fmt::format(",{},{:.6g},{},{}", outcome.code, outcome.share, outcome.epochs, outcome.best_epoch);
    for (std::size_t i = 0; i <= facts.metrics.size(); ++i)
      text += outcome.has_failed() ? "," : fmt::format(",{:.9g}", outcome.scores[i]);
    text += "," + csv_field(escaped(outcome.message)) + "\n";
  }
  return text;
}

}  // namespace trainer
