#pragma once

#include <string>
#include <vector>

namespace trainer {

/// Lines through parallel axes (Inselberg 1985), one for each trial.
struct ParallelCoordinates {
  struct Axis {
    std::string title;
    std::string low, high;  ///< what its ends stand for
  };
  struct Line {
    std::string title;           ///< shown under the pointer
    std::vector<double> places;  ///< on each axis, in [0, 1]
    double rank = 0;             ///< 0: the best line, 1: the worst one
  };
  std::vector<Axis> axes;
  std::vector<Line> lines;  ///< best first
};

/// An SVG image for an HTML page; the best line is drawn last, in the colour of the class `best`.
std::string svg_of(const ParallelCoordinates& plot);

}  // namespace trainer
