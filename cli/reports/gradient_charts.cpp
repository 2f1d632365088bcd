#include "cli/reports/gradient_charts.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

namespace trainer {
namespace {

constexpr std::size_t kMost = 8;  // colours of a chart

double number_of(const std::string& field) {
  return field.empty() ? std::numeric_limits<double>::quiet_NaN() : std::strtod(field.c_str(), nullptr);
}

/// The first, the last, and between them at equal distances.
std::vector<Curve> some_of(std::vector<Curve> curves) {
  if (curves.size() <= kMost) return curves;
  std::vector<Curve> some;
  for (std::size_t i = 0; i < kMost; ++i) some.push_back(curves[i * (curves.size() - 1) / (kMost - 1)]);
  return some;
}

}  // namespace

std::vector<Chart> gradient_charts(const std::vector<std::vector<std::string>>& rows) {
  const std::vector<std::string>& names = rows.front();
  std::vector<Chart> charts;
  for (const auto& [ending, title] : {std::pair<std::string, std::string>{"/gradient", "gradient norm"},
                                      {"/update_ratio", "update / weights"}}) {
    std::vector<Curve> curves;
    for (std::size_t column = 1; column < names.size(); ++column) {
      if (!names[column].ends_with(ending)) continue;
      Curve curve{.name = names[column].substr(0, names[column].size() - ending.size()), .points = {}};
      for (const std::vector<std::string>& row : std::span(rows).subspan(1))
        if (row.size() == names.size()) curve.points.push_back({number_of(row[0]), number_of(row[column])});
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
    if (!curves.empty())
      charts.push_back({.title = title, .curves = some_of(std::move(curves)), .may_be_logarithmic = true});
  }
  return charts;
}

}  // namespace trainer
