#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "cli/reports/forecast_chart.h"
#include "cli/reports/forecast_table.h"

namespace trainer {
namespace {

ForecastRow row(int ranks, double efficiency) {
  return {.ranks = ranks,
          .hosts = ranks,
          .data_ranks = ranks,
          .batch = 32 * ranks,
          .step = {0.1, 0.09, 0.11},
          .throughput = {320.0 * ranks * efficiency, 300.0 * ranks * efficiency, 340.0 * ranks * efficiency},
          .efficiency = {efficiency, efficiency - 0.01, efficiency},
          .waiting = 1 - efficiency};
}

const std::vector<ForecastRow> kRows{row(1, 1), row(4, 0.9), {.ranks = 64, .impossible = "too few samples"}};

}  // namespace

TEST_CASE("a number of ranks that is impossible is explained below the table", "[cli]") {
  const std::string table = forecast_table(kRows);
  CHECK(table.find("90.0%") != std::string::npos);
  CHECK(table.find("64 ranks: too few samples\n") != std::string::npos);
}

TEST_CASE("a forecast has the bounds of a number of ranks below it, within 80 columns", "[cli]") {
  std::vector<ForecastRow> rows = kRows;
  rows.push_back(row(16'384, 0.3));
  const std::string text = forecast_table(rows);
  INFO(text);
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  CHECK(std::ranges::all_of(all, [](const std::string& line) { return line.size() <= 80; }));
  REQUIRE(all.size() == 11);
  CHECK(all[1].ends_with(" 100 ms         320      100.0%        0.0%"));
  CHECK(all[2].ends_with(" from  90.00 ms         300       99.0%"));
  CHECK(all[3].ends_with("   to    110 ms         340      100.0%"));
}

TEST_CASE("the comma-separated forecast has a line for each possible row", "[cli]") {
  const std::string csv = forecast_csv(kRows, true);
  CHECK(std::ranges::count(csv, '\n') == 3);
  CHECK(csv.find("\nweak,4,4,4,1,128,100.0000,90.0000,110.0000,1152.00,") != std::string::npos);
}

TEST_CASE("the chart is a file of its own that names itself a forecast", "[cli]") {
  const std::string svg = forecast_svg(kRows, "a <model>");
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("a &lt;model&gt;") != std::string::npos);
  CHECK(svg.find("a forecast, not a measurement") != std::string::npos);
  CHECK(svg.find("90 %") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(forecast_svg({kRows.front()}, "one").find("nan") == std::string::npos);
  CHECK(forecast_svg({kRows.back()}, "none").empty());
}

}  // namespace trainer
