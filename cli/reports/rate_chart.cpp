#include "cli/reports/rate_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/reports/axis.h"
#include "cli/reports/html.h"
#include "cli/terminal/text.h"

namespace trainer {

std::string svg_of(const RateCurve& curve, const std::string& title) {
  constexpr double kLeft = 70, kRight = 650, kTop = 50, kBottom = 330;
  double low = 0, high = 1;
  bool is_first = true;
  for (const auto* losses : {&curve.losses, &curve.smoothed})
    for (const double loss : *losses) {
      if (!std::isfinite(loss)) continue;
      low = is_first ? loss : std::min(low, loss);
      high = is_first ? loss : std::max(high, loss);
      is_first = false;
    }
  // A diverging end must not flatten the rest, and a constant needs room.
  const double start = is_first ? 1 : curve.smoothed.front();
  high = std::min(high, start + std::abs(start - low) / 2 + std::abs(start) / 10);
  if (high - low < 1e-9) low -= 0.5, high += 0.5;
  const Axis rates(curve.rates.front(), curve.rates.back(), kLeft, kRight, Axis::Scale::logarithmic);
  const auto y_of = [&](double loss) {
    return std::clamp(kBottom + (kTop - kBottom) * (loss - low) / (high - low), kTop, kBottom);
  };
  std::string text;
  const auto add = [&]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
    text += "\n";
  };
  add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 380" font-family="sans-serif" font-size="11">)");
  add(R"(<rect width="680" height="380" fill="#ffffff"/>)");
  add(R"(<text x="10" y="18" font-size="13" font-weight="bold">{}</text>)", html_text(title));
  add(R"(<text x="10" y="34">loss of a step over the learning rate; smoothed: the thick line</text>)");
  for (const double tick : rates.ticks()) {
    const double x = rates.place(tick);
    add(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" stroke="#dddddd"/>)", x, kTop, kBottom);
    add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:g}</text>)", x, kBottom + 18, tick);
  }
  for (int tick = 0; tick <= 4; ++tick) {
    const double loss = low + (high - low) * tick / 4;
    add(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 8, y_of(loss) + 4,
        short_number(loss));
  }
  const auto add_curve = [&](const std::vector<double>& losses, const char* colour, double width) {
    std::string path;
    for (std::size_t i = 0; i < losses.size(); ++i)
      if (std::isfinite(losses[i]))
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", rates.place(curve.rates[i]),
                            y_of(losses[i]));
    if (!path.empty())
      add(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}"/>)", path, colour, width);
  };
  add_curve(curve.losses, "#b9cbe0", 1);
  add_curve(curve.smoothed, "#3b6ea8", 2.5);
  if (curve.marked > 0) {
    const double x = rates.place(curve.marked);
    add(R"(<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" stroke="#c2601d" stroke-dasharray="4 3"/>)", x,
        kTop, kBottom);
    add(R"(<text x="{:.1f}" y="{}" fill="#c2601d">{:.2g}</text>)", x + 5, kTop + 12, curve.marked);
  }
  add(R"(<text x="{}" y="{}" text-anchor="middle">learning rate</text>)", (kLeft + kRight) / 2, kBottom + 38);
  return text + "</svg>\n";
}

}  // namespace trainer
