#include "cli/reports/parallel_coordinates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/reports/html.h"

namespace trainer {

std::string svg_of(const ParallelCoordinates& plot) {
  constexpr double kLeft = 60, kBetween = 180, kTop = 48, kBottom = 300, kHeight = 330;
  const auto x_of = [](std::size_t axis) { return kLeft + kBetween * static_cast<double>(axis); };
  const auto y_of = [](double place) { return kBottom + (kTop - kBottom) * std::clamp(place, 0.0, 1.0); };
  std::string text;
  const auto add = [&]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  };
  // An axis needs 110 pixels.
  add(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" style="min-width:{}px" role="img" )"
      R"(aria-label="trials">)"
      "\n",
      x_of(plot.axes.size() - 1) + kLeft, kHeight, 110 * plot.axes.size());
  for (std::size_t i = 0; i < plot.axes.size(); ++i) {
    const ParallelCoordinates::Axis& axis = plot.axes[i];
    add(R"(<line class="axis" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>)", x_of(i), kTop, kBottom);
    add(R"(<text class="title" x="{}" y="{}" text-anchor="middle">{}</text>)", x_of(i), kTop - 28,
        html_text(axis.title));
    add(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", x_of(i), kTop - 10, html_text(axis.high));
    add(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)"
        "\n",
        x_of(i), kBottom + 18, html_text(axis.low));
  }
  for (std::size_t i = plot.lines.size(); i-- > 0;) {
    const ParallelCoordinates::Line& line = plot.lines[i];
    std::string path;
    for (std::size_t axis = 0; axis < line.places.size(); ++axis)
      path += fmt::format("{}{} {:.1f}", axis == 0 ? "M" : "L", x_of(axis), y_of(line.places[axis]));
    // Worse lines are fainter.
    constexpr double kFaintest = 0.15;
    add(R"(<path class="{}" d="{}" opacity="{:.2f}"><title>{}</title></path>)"
        "\n",
        i == 0 ? "trial best" : "trial", path, 1 - (1 - kFaintest) * line.rank, html_text(line.title));
  }
  return text + "</svg>\n";
}

}  // namespace trainer
