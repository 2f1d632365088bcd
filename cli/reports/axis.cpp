#include "cli/reports/axis.h"

#include <algorithm>
#include <cmath>

namespace trainer {
namespace {

/// What rounding may add to the ends of an axis.
constexpr double kRounding = 1e-9;

}  // namespace

Axis::Axis(double low, double high, double begin, double end, Scale scale)
    : low_(low), high_(high), begin_(begin), end_(end), is_logarithmic_(scale == Scale::logarithmic) {
  if (is_logarithmic_ || high - low > kRounding * std::max(std::abs(low), std::abs(high))) return;
  const double around = low == 0 ? 1 : std::abs(low);
  low_ = low - around, high_ = low + around;
  is_constant_ = true;
}

double Axis::place(double value) const {
  const double share = is_logarithmic_
                           ? (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_))
                           : (value - low_) / (high_ - low_);
  return begin_ + share * (end_ - begin_);
}

std::vector<double> Axis::ticks() const {
  if (is_constant_) return {low_, (low_ + high_) / 2, high_};
  if (!is_logarithmic_) return multiples();
  const std::vector<double> ticks = powers();
  return ticks.size() < 2 ? multiples() : ticks;
}

std::vector<double> Axis::multiples() const {
  constexpr double kAbout = 5;
  const double rough = (high_ - low_) / kAbout, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5, 2, 1})
    if (factor * power >= rough) step = factor * power;
  std::vector<double> ticks;
  for (double number = std::ceil(low_ / step); number * step <= high_ * (1 + 1e-12); ++number)
    ticks.push_back(number * step);
  return ticks;
}

std::vector<double> Axis::powers() const {
  const double first = std::floor(std::log10(low_) + kRounding), last = std::log10(high_) + kRounding;
  // A few decades have room for more ticks than powers of ten, many decades for fewer.
  const double decades = last - first - kRounding, every = std::max(1.0, std::ceil(decades / 6));
  std::vector<double> ticks;
  for (double power = first; power <= last; power += every)
    for (const double factor : {1, 2, 5})
      if (const double tick = factor * std::pow(10.0, power); tick >= low_ * (1 - kRounding) &&
                                                              tick <= high_ * (1 + kRounding) &&
                                                              (factor == 1 || decades <= 3 + kRounding))
        ticks.push_back(tick);
  return ticks;
}

}  // namespace trainer
