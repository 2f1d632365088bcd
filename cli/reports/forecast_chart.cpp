#include "cli/reports/forecast_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/reports/html.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr const char *kForecast = "#3b6ea8", *kIdeal = "#555555";

/// A logarithmic axis from `low` to `high`.
struct RankAxis {
  double low, high, begin, end;
  double place(double value) const {
    return begin + (end - begin) * std::log(value / low) / std::log(high / low);
  }
};

class ForecastDrawing {
 public:
  static constexpr double kLeft = 80, kRight = 650, kTop = 60, kBottom = 330;

  ForecastDrawing(std::vector<ForecastRow> rows, const RankAxis& x, const RankAxis& y)
      : rows_(std::move(rows)), x_(x), y_(y) {}

  std::string svg(const std::string& title) {
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 380" font-family="sans-serif" font-size="11">)");
    add(R"(<rect width="680" height="380" fill="#ffffff"/>)");
    add(R"(<text x="10" y="18" font-size="13" font-weight="bold">{}</text>)", html_text(title));
    add(R"(<text x="10" y="36">examples a second over ranks, and the efficiency; a forecast, not a measurement</text>)");
    add_grid();
    const ForecastRow& first = rows_.front();
    const double one = first.throughput.value / first.efficiency.value / first.ranks;
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-dasharray="3 3"/>)",
        x_.place(first.ranks), y_.place(one * first.ranks), x_.place(rows_.back().ranks),
        y_.place(one * rows_.back().ranks), kIdeal);
    add_curve();
    return text_ + "</svg>\n";
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += "\n";
  }

  void add_grid() {
    for (double power = std::pow(10, std::floor(std::log10(y_.low))); power <= y_.high; power *= 10)
      for (const double factor : {1.0, 2.0, 5.0})
        if (const double tick = factor * power; tick >= y_.low && tick <= y_.high) {
          add(R"(<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" stroke="#dddddd"/>)", kLeft, kRight,
              y_.place(tick), y_.place(tick));
          add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6, y_.place(tick) + 4,
              short_number(tick));
        }
    for (const ForecastRow& row : rows_)
      add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x_.place(row.ranks), kBottom + 18,
          grouped(row.ranks));
    add(R"(<text x="{}" y="{}" text-anchor="middle">ranks</text>)", (kLeft + kRight) / 2, kBottom + 38);
  }

  void add_curve() {
    std::string path;
    for (const ForecastRow& row : rows_)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_.place(row.ranks),
                          y_.place(row.throughput.value));
    add(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2"/>)", path, kForecast);
    for (const ForecastRow& row : rows_) {
      const double x = x_.place(row.ranks), y = y_.place(row.throughput.value);
      add(R"(<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}" stroke="{}"/>)", x, x,
          y_.place(row.throughput.low), y_.place(row.throughput.high), kForecast);
      add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)", x, y, kForecast);
      add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{:.0f} %</text>)", x, y + 24,
          100 * row.efficiency.value);
    }
  }

  std::vector<ForecastRow> rows_;
  RankAxis x_, y_;
  std::string text_;
};

}  // namespace

std::string forecast_svg(const std::vector<ForecastRow>& rows, const std::string& title) {
  std::vector<ForecastRow> possible;
  std::ranges::copy_if(rows, std::back_inserter(possible),
                       [](const ForecastRow& row) { return row.impossible.empty(); });
  if (possible.empty()) return "";
  RankAxis x{static_cast<double>(possible.front().ranks), static_cast<double>(possible.back().ranks),
             ForecastDrawing::kLeft + 20, ForecastDrawing::kRight - 20};
  RankAxis y{possible.front().throughput.low, possible.front().throughput.high, ForecastDrawing::kBottom,
             ForecastDrawing::kTop};
  for (const ForecastRow& row : possible) {
    y.low = std::min(y.low, row.throughput.low);
    y.high = std::max({y.high, row.throughput.high, row.throughput.value / row.efficiency.value});
  }
  // One point needs room, too.
  constexpr double kRoom = 1.5;
  if (x.low == x.high) x.high *= 2;
  y.low /= kRoom;
  y.high *= kRoom;
  return ForecastDrawing(std::move(possible), x, y).svg(title);
}

}  // namespace trainer
