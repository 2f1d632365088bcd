#include "cli/reports/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cli/reports/axis.h"
#include "cli/reports/html.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr double kWidth = 640, kHeight = 262, kLeft = 62, kRight = 628, kTop = 24, kBottom = 206;
constexpr std::size_t kMaxPoints = 200, kColours = 8;

/// Short, for an axis: "0.05", "1,500", "20k", "1.5M".
std::string tick_text(double value) {
  constexpr double kThousand = 1e3, kMillion = 1e6;
  const double size = std::abs(value);
  if (size < 1) return fmt::format("{:.3g}", value);
  if (size < 10 * kThousand) return short_number(value);
  if (size < kMillion) return fmt::format("{:.4g}k", value / kThousand);
  if (size < kThousand * kMillion) return fmt::format("{:.4g}M", value / kMillion);
  return fmt::format("{:.3g}", value);
}

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

class Drawing {
 public:
  Drawing(const Chart& chart, const Extent& x, const Extent& y)
      : chart_(chart),
        logarithmic_(chart.may_be_logarithmic && y.low > 0 && y.high > kWorthLogarithm * y.low),
        x_(x.low, x.high, kLeft, kRight, Axis::Scale::linear),
        y_(y.low, y.high, kBottom, kTop, logarithmic_ ? Axis::Scale::logarithmic : Axis::Scale::linear) {}

  std::string svg() {
    add(R"(<figure><figcaption><b>{}</b>{}{}</figcaption>)", html_text(chart_.title),
        logarithmic_ ? " (log scale)" : "", legend());
    add(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight, html_text(chart_.title));
    add_grid();
    add_marks();
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) add_curve(chart_.curves[i], i);
    add_readings();
    return text_ + "</svg></figure>\n";
  }

 private:
  static constexpr double kWorthLogarithm = 50;

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  std::string legend() const {
    std::string text;
    for (std::size_t i = 0; i < chart_.curves.size(); ++i)
      if (!chart_.curves[i].points.empty() && chart_.curves[i].name != chart_.title)
        text +=
            fmt::format(R"( <span class="c{}">{}</span>)", i % kColours, html_text(chart_.curves[i].name));
    return text;
  }

  void add_grid() {
    for (const double tick : y_.ticks())
      add(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text x="{}" y="{:.1f}" )"
          R"(text-anchor="end">{}</text>)",
          kLeft, kRight, y_.place(tick), y_.place(tick), kLeft - 6, y_.place(tick) + 4,
          chart_.is_fraction ? fmt::format("{:.4g}%", 100 * tick) : tick_text(tick));
    for (const double tick : x_.ticks())
      if (tick == std::round(tick))
        add(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x_.place(tick), kBottom + 24,
            tick_text(tick));
    add(R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kRight, kHeight - 4, html_text(chart_.x_title));
  }

  void add_marks() {
    for (const Chart::Mark& mark : chart_.marks) {
      const double x = x_.place(mark.x);
      add(R"(<g class="mark"><line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)"
          R"(<text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)",
          x, kTop, kBottom, kTop - 8, html_text(mark.text));
      if (std::isfinite(mark.y))
        add(R"(<circle class="ring" cx="{:.1f}" cy="{:.1f}" r="6"/>)", x, y_.place(mark.y));
      add("</g>");
    }
  }

  void add_curve(const Curve& curve, std::size_t colour) {
    std::string path;
    bool pen_is_down = false;
    for (const Curve::Point& point : curve.points) {
      const bool is_drawn = std::isfinite(point.y);
      if (is_drawn)
        path += fmt::format("{}{:.1f} {:.1f}", pen_is_down ? "L" : "M", x_.place(point.x), y_.place(point.y));
      pen_is_down = is_drawn;
    }
    add(R"(<path class="c{}" d="{}"/>)", colour % kColours, path);
    // A line through one point cannot be seen.
    constexpr std::size_t kFew = 30;
    if (curve.points.size() <= kFew)
      for (const Curve::Point& point : curve.points) add_dot(point, colour);
  }

  void add_dot(const Curve::Point& point, std::size_t colour) {
    if (std::isfinite(point.y))
      add(R"(<circle class="c{}" cx="{:.1f}" cy="{:.1f}" r="3"/>)", colour % kColours, x_.place(point.x),
          y_.place(point.y));
  }

  /// For each x a strip that shows the values of all curves under the pointer.
  void add_readings() {
    std::set<double> all;
    for (const Curve& curve : chart_.curves)
      for (const Curve::Point& point : curve.points) all.insert(point.x);
    const std::vector<double> xs(all.begin(), all.end());
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const double here = x_.place(xs[i]);
      const double begin = i == 0 ? kLeft : (x_.place(xs[i - 1]) + here) / 2;
      const double end = i + 1 == xs.size() ? kRight : (here + x_.place(xs[i + 1])) / 2;
      add(R"(<g class="at"><rect x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>)", begin, kTop, end - begin,
          kBottom - kTop);
      add(R"(<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", here, here, kTop, kBottom);
      std::string lines;
      const bool is_left = here < (kLeft + kRight) / 2;
      const double beside = is_left ? here + 10 : here - 10;
      for (std::size_t curve = 0; curve < chart_.curves.size(); ++curve) {
        const std::vector<Curve::Point>& points = chart_.curves[curve].points;
        const auto point = std::lower_bound(points.begin(), points.end(), xs[i],
                                            [](const Curve::Point& one, double x) { return one.x < x; });
        if (point == points.end() || point->x != xs[i]) continue;
        constexpr std::size_t kMostCharacters = 34;
        lines += fmt::format(
            R"(<tspan x="{:.1f}" dy="1.3em" class="c{}">{} {}</tspan>)", beside, curve % kColours,
            html_text(shortened(chart_.curves[curve].name, kMostCharacters)), value_text(point->y));
        add_dot(*point, curve);
      }
      add(R"(<text x="{:.1f}" y="{}" text-anchor="{}">{} {}{}</text></g>)", beside, kTop + 12,
          is_left ? "start" : "end", html_text(chart_.x_title), short_number(xs[i]), lines);
    }
  }

  std::string value_text(double value) const {
    return chart_.is_fraction ? fraction_text(value) : short_number(value);
  }

  const Chart& chart_;
  bool logarithmic_;
  Axis x_, y_;
  std::string text_;
};

}  // namespace

Curve thinned(const Curve& curve, std::size_t most) {
  const std::size_t each = (curve.points.size() + most - 1) / std::max<std::size_t>(most, 1);
  if (each <= 1) return curve;
  Curve result{.name = curve.name};
  for (std::size_t first = 0; first < curve.points.size(); first += each) {
    const std::size_t last = std::min(first + each, curve.points.size());
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += curve.points[i].y;
    result.points.push_back({curve.points[last - 1].x, sum / static_cast<double>(last - first)});
  }
  return result;
}

std::string svg_of(const Chart& chart) {
  Chart shown = chart;
  shown.curves.clear();
  Extent x, y;
  for (const Chart::Mark& mark : chart.marks) x.add(mark.x), y.add(mark.y);
  x.add(chart.x_low);
  x.add(chart.x_high);
  for (const Curve& curve : chart.curves) {
    shown.curves.push_back(thinned(curve, kMaxPoints));
    // A metric that only evaluations have is null in training.
    if (std::ranges::none_of(curve.points, [](const Curve::Point& point) { return std::isfinite(point.y); }))
      shown.curves.back().points.clear();
    for (const Curve::Point& point : shown.curves.back().points) {
      x.add(point.x);
      y.add(point.y);
    }
  }
  if (x.is_empty() || y.is_empty()) return "";
  return Drawing(shown, x, y).svg();
}

}  // namespace trainer
