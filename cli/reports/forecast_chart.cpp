#include "cli/reports/forecast_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/reports/axis.h"
#include "cli/reports/html.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr const char *kForecast = "#3b6ea8", *kIdeal = "#555555";

class ForecastDrawing {
 public:
  static constexpr double kLeft = 80, kRight = 650, kTop = 60, kBottom = 330;

  ForecastDrawing(std::vector<ForecastRow> rows, const Axis& x, const Axis& y)
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
    for (const double tick : y_.ticks()) {
      const double y = y_.place(tick);
      add(R"(<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" stroke="#dddddd"/>)", kLeft, kRight, y);
      add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6, y + 4, short_number(tick));
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
  Axis x_, y_;
  std::string text_;
};

}  // namespace

std::string forecast_svg(const std::vector<ForecastRow>& rows, const std::string& title) {
  std::vector<ForecastRow> possible;
  std::ranges::copy_if(rows, std::back_inserter(possible),
                       [](const ForecastRow& row) { return row.impossible.empty(); });
  if (possible.empty()) return "";
  const auto fewest = static_cast<double>(possible.front().ranks);
  auto most = static_cast<double>(possible.back().ranks);
  double low = possible.front().throughput.low, high = possible.front().throughput.high;
  for (const ForecastRow& row : possible) {
    low = std::min(low, row.throughput.low);
    high = std::max({high, row.throughput.high, row.throughput.value / row.efficiency.value});
  }
  // One point needs room, too.
  constexpr double kRoom = 1.5;
  if (fewest == most) most *= 2;
  const Axis x(fewest, most, ForecastDrawing::kLeft + 20, ForecastDrawing::kRight - 20,
               Axis::Scale::logarithmic);
  const Axis y(low / kRoom, high * kRoom, ForecastDrawing::kBottom, ForecastDrawing::kTop,
               Axis::Scale::logarithmic);
  return ForecastDrawing(std::move(possible), x, y).svg(title);
}

}  // namespace trainer
