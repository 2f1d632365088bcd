#pragma once

#include <string>
#include <vector>

namespace trainer {

/// Losses over rising learning rates, on a logarithmic axis.
struct RateCurve {
  std::vector<double> rates, losses, smoothed;  ///< at least two; a loss that is not finite is left out
  double marked = 0;                            ///< a rate with a line of its own; 0: none
};

/// An SVG image of its own.
std::string svg_of(const RateCurve& curve, const std::string& title);

}  // namespace trainer
