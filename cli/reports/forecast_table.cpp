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
  std::vector<std::vector<std::string>> cells{{"ranks", "hosts", "mesh", "batch", "step", "from", "to",
                                               "examples/s", "from", "to", "efficiency", "from", "to",
                                               "not hidden"}};
  std::string notes;
  for (const ForecastRow& row : rows) {
    if (!row.impossible.empty()) {
      notes += fmt::format("{}: {}\n", counted(row.ranks, "rank"), row.impossible);
      continue;
    }
    cells.push_back(
        {grouped(row.ranks), grouped(row.hosts), fmt::format("{}x{}", row.data_ranks, row.model_ranks),
         grouped(row.batch), milliseconds_text(row.step.value), milliseconds_text(row.step.low),
         milliseconds_text(row.step.high), count_text(row.throughput.value), count_text(row.throughput.low),
         count_text(row.throughput.high), percent_text(row.efficiency.value),
         percent_text(row.efficiency.low), percent_text(row.efficiency.high), percent_text(row.waiting)});
  }
  return table(cells, 0) + notes;
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
