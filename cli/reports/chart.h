#pragma once

#include <string>
#include <vector>

namespace trainer {

struct Curve {
  struct Point {
    double x = 0, y = 0;
  };
  std::string name;
  std::vector<Point> points;  ///< x rises; y that is not finite leaves a gap
};

struct Chart {
  std::string title;
  std::vector<Curve> curves;
  bool spreads = false;  ///< y, if positive throughout, may be shown by its logarithm
};

/// The curve with so many points at most: others are means of as many neighbours each.
Curve thinned(const Curve& curve, std::size_t most);

/// The chart as SVG to stand in a page. Where the pointer is, it tells the values; classes c0, c1 ... colour
/// the curves.
std::string svg_of(const Chart& chart);

}  // namespace trainer
