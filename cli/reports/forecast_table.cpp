#include "cli/reports/forecast_table.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/reports/plan_text.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

std::string count_text(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : grouped(std::llround(value));
}
std::string percent_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

}  // namespace

std::string forecast_table(const std::vector<ForecastRow>& rows) {
  std::vector<std::vector<std::string>> cells{
      {"ranks", "hosts", "mesh", "batch", "step", "examples/s", "efficiency", "not hidden"}};
  std::string notes;
  for (const ForecastRow& row : rows) {
    if (!row.impossible.empty()) {
      notes += fmt::format("{}: {}\n", counted(row.ranks, "rank"), row.impossible);
      continue;
    }
    const auto add = [&](std::vector<std::string> line, double Estimate::*end, const std::string& waiting) {
      line.push_back(milliseconds_text(row.step.*end));
      line.push_back(count_text(row.throughput.*end));
      line.push_back(percent_text(row.efficiency.*end));
      line.push_back(waiting);
      cells.push_back(std::move(line));
    };
    add({grouped(row.ranks), grouped(row.hosts), fmt::format("{}x{}", row.data_ranks, row.model_ranks),
         grouped(row.batch)},
        &Estimate::value, percent_text(row.waiting));
    add({"", "", "", "from"}, &Estimate::low, "");
    add({"", "", "", "to"}, &Estimate::high, "");
  }
  return table(cells, 0) + in_lines(notes, 2);
}

std::string forecast_csv(const std::vector<ForecastRow>& rows, bool weak) {
  std::string text =
      "scaling,ranks,hosts,data_ranks,model_ranks,batch,step_ms,step_ms_low,step_ms_high,examples_per_second,"
      "examples_per_second_low,examples_per_second_high,efficiency,efficiency_low,efficiency_high,"
      "not_hidden\n";
  for (const ForecastRow& row : rows)
    if (row.impossible.empty())
      text += fmt::format(
          "{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.2f},{:.2f},{:.2f},{:.4f},{:.4f},{:.4f},"
          "{:.4f}\n",
          weak ? "weak" : "strong", row.ranks, row.hosts, row.data_ranks, row.model_ranks, row.batch,
          1000 * row.step.value, 1000 * row.step.low, 1000 * row.step.high, row.throughput.value,
          row.throughput.low, row.throughput.high, row.efficiency.value, row.efficiency.low,
          row.efficiency.high, row.waiting);
  return text;
}

}  // namespace trainer
