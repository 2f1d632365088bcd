#include "datasets/loading/mixup.h"

#include <algorithm>
#include <cmath>

#include "engine/core/random.h"

namespace trainer {
namespace {

constexpr std::uint64_t kAttempts = 8, kNumbers = 4 * kAttempts;

/// The logarithm of a gamma variable (Marsaglia and Tsang 2000), by the numbers of the stream from `first`
/// on.
double log_gamma_variable(double shape, const RandomStream& random, std::uint64_t first) {
  // Drawn for shape + 1, where the method is good, and then carried over to any shape above 0.
  const double d = shape + 2.0 / 3, c = 1 / std::sqrt(9 * d);
  double accepted = 1;  // its likeliest value, should all attempts fail, as they do once in 10^10 times
  for (std::uint64_t number = first; number < first + kNumbers; number += 4) {
    const double normal = static_cast<double>(random.normal(number)), root = 1 + c * normal;
    const double cube = root * root * root, uniform = 1 - static_cast<double>(random.uniform(number + 2));
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
  const std::uint64_t first = index * 2 * kNumbers;
  // Of two gamma variables each one's share is a beta variable. Small shapes give tiny ones: their logarithms
  // can still be compared.
  const double own = log_gamma_variable(alpha_, shares, first);
  const double other = log_gamma_variable(alpha_, shares, first + kNumbers);
  const double share = 1 / (1 + std::exp(other - own));
  return {.sample = static_cast<std::int64_t>(partners.below(index, static_cast<std::uint64_t>(samples_))),
          .share = static_cast<float>(std::max(share, 1 - share))};
}

}  // namespace trainer
