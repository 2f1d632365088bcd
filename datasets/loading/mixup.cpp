#include "datasets/loading/mixup.h"

#include <algorithm>
#include <cmath>

#include "engine/core/random.h"

namespace trainer {
namespace {

constexpr std::uint64_t kAttempts = 8, kDraws = 4 * kAttempts;

/// The logarithm of a Gamma(shape, 1) variable (Marsaglia and Tsang 2000), from draws [first, first + kDraws)
/// of the stream.
double log_gamma_variable(double shape, const RandomStream& random, std::uint64_t first) {
  // The method requires a shape above 1: draw for shape + 1, then convert.
  const double d = shape + 2.0 / 3, c = 1 / std::sqrt(9 * d);
  double accepted = 1;  // the mode; all attempts fail once in 10^10 times
  for (std::uint64_t draw = first; draw < first + kDraws; draw += 4) {
    const double normal = static_cast<double>(random.normal(draw)), root = 1 + c * normal;
    const double cube = root * root * root, uniform = 1 - static_cast<double>(random.uniform(draw + 2));
    if (cube <= 0 || std::log(uniform) >= normal * normal / 2 + d * (1 - cube + std::log(cube))) continue;
    accepted = cube;
    break;
  }
  return std::log(d * accepted) + std::log(1 - static_cast<double>(random.uniform(first + 3))) / shape;
}

}  // namespace

Mixup::Partner Mixup::partner(std::int64_t sample, std::int64_t epoch) const {
  const auto index = static_cast<std::uint64_t>(sample), moment = static_cast<std::uint64_t>(epoch);
  const RandomStream partners(seed_, "mixup partner", moment), shares(seed_, "mixup share", moment);
  const std::uint64_t first = index * 2 * kDraws;
  // a / (a + b) of two gamma variables is a beta variable. Logarithms do not underflow for a small alpha.
  const double own = log_gamma_variable(alpha_, shares, first);
  const double other = log_gamma_variable(alpha_, shares, first + kDraws);
  const double share = 1 / (1 + std::exp(other - own));
  return {.sample = static_cast<std::int64_t>(partners.below(index, static_cast<std::uint64_t>(samples_))),
          .share = static_cast<float>(std::max(share, 1 - share))};
}

}  // namespace trainer
