#pragma once

#include <limits>
#include <string>
#include <vector>

namespace trainer {

struct Curve {
  struct Point {
    double x = 0, y = 0;
  };
  std::string name;
  std::vector<Point> points;  ///< by rising x; a y that is not finite leaves a gap
};

struct Chart {
  static constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
  /// A place on the x axis, with a ring at y unless that is not a number.
  struct Mark {
    double x = 0, y = kNoValue;
    std::string text;
  };
  std::string title;
  std::vector<Curve> curves;
  bool may_be_logarithmic = false;  ///< in y, if all y are positive
  std::vector<Mark> marks = {};
  std::string x_title = "step";
  bool is_fraction = false;                    ///< y is shown in percent
  double x_low = kNoValue, x_high = kNoValue;  ///< the x axis reaches over these too
};

/// The curve with `most` points at most, each the mean of as many neighbours.
Curve thinned(const Curve& curve, std::size_t most);

/// The chart as SVG for an HTML page. It shows the values under the pointer; the page's style gives the
/// curves the colours of the classes c0 to c7, in turn.
std::string svg_of(const Chart& chart);

}  // namespace trainer
