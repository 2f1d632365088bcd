#include "cli/terminal/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/text.h"

namespace trainer {
namespace {

std::string right_aligned(const std::string& text, std::size_t columns) {
  const std::size_t own = columns_of(text);
  return std::string(own < columns ? columns - own : 0, ' ') + text;
}

}  // namespace

std::string slow_rank_text(const RunFacts& facts, int slow_rank) {
  if (slow_rank < 0) return "";
  if (facts.model_ranks == 1) return fmt::format("rank {} is slow", slow_rank);
  return fmt::format("ranks {}-{} are slow", slow_rank, slow_rank + facts.model_ranks - 1);
}

EpochTable::EpochTable(const RunFacts& facts) : facts_(facts), shown_metrics_(facts.metrics.size()) {
  constexpr std::size_t kWidth = 80, kStar = 2;
  const auto width = [&] { return columns_of(heading()) + kStar; };
  set_up_columns();
  if (width() >= kWidth) space_ = 1;
  while (width() > kWidth && shown_metrics_ > 0 && !facts_.evaluation_split.empty()) {
    --shown_metrics_;
    set_up_columns();
  }
}

void EpochTable::set_up_columns() {
  columns_.clear();
  constexpr std::size_t kLoss = 8, kMetric = 6, kSpeed = 10, kShare = 4, kStaleness = 6, kTime = 6;
  const auto add = [&](const std::string& heading, std::size_t width) {
    columns_.emplace_back(heading, std::max(width, columns_of(heading)));
  };
  const auto add_scores = [&](const std::string& prefix) {
    add(prefix + "loss", kLoss);
    for (std::size_t i = 0; i < facts_.metrics.size(); ++i)
      if (is_shown(i) || !prefix.empty()) add(prefix + facts_.metrics[i].short_name, kMetric);
  };
  add("epoch", fmt::formatted_size("{}/{}", facts_.epochs, facts_.epochs));
  add_scores("");
  if (!facts_.evaluation_split.empty()) add_scores(facts_.evaluation_split + " ");
  add("examples/s", kSpeed);
  if (facts_.is_async) add("stale", kStaleness);
  if (facts_.ranks > 1) {
    add("comm", kShare);
    add("wait", kShare);
  }
  add("data", kShare);
  add("time", kTime);
}

std::string EpochTable::line(const std::vector<std::string>& cells) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += std::string(i == 0 ? 1 : space_, ' ') +
            right_aligned(cells[i], i < columns_.size() ? columns_[i].second : 0);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string EpochTable::heading() const {
  std::vector<std::string> cells;
  for (const auto& [heading, width] : columns_) cells.push_back(heading);
  return line(cells);
}

std::string EpochTable::epoch_cell(int epoch) const {
  return " " + right_aligned(fmt::format("{}/{}", epoch, facts_.epochs), columns_.front().second);
}

std::string EpochTable::row(const EpochReport& report) const {
  std::vector<std::string> cells{fmt::format("{}/{}", report.epoch, facts_.epochs)};
  const auto add_scores = [&](const Scores* scores) {
    cells.push_back(scores ? loss_text(scores->loss) : "");
    for (std::size_t i = 0; i < facts_.metrics.size(); ++i)
      if (is_shown(i) || scores != &report.train)
        cells.push_back(scores ? metric_text(facts_.metrics[i], scores->metrics[i]) : "");
  };
  add_scores(&report.train);
  if (!facts_.evaluation_split.empty()) add_scores(report.evaluation ? &*report.evaluation : nullptr);
  cells.push_back(grouped(std::llround(report.examples_per_second)));
  if (facts_.is_async)
    cells.push_back(report.staleness ? fmt::format("{:.1f}/{}", report.staleness->mean, report.staleness->max)
                                     : "");
  if (facts_.ranks > 1) {
    cells.push_back(fmt::format("{:.0f}%", 100 * report.comm_share));
    cells.push_back(fmt::format("{:.0f}%", 100 * report.wait_share));
  }
  cells.push_back(fmt::format("{:.0f}%", 100 * report.data_share));
  cells.push_back(seconds_text(report.epoch_time));
  cells.push_back(report.best ? "*" : "");
  if (report.slow_rank >= 0) cells.push_back(slow_rank_text(facts_, report.slow_rank));
  return line(cells);
}

}  // namespace trainer
