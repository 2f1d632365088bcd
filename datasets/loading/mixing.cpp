#include "datasets/loading/mixing.h"

#include <algorithm>
#include <cmath>

#include "engine/core/elementary.h"
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
    if (cube <= 0 || elementary::log(uniform) >= normal * normal / 2 + d * (1 - cube + elementary::log(cube)))
      continue;
    accepted = cube;
    break;
  }
  return elementary::log(d * accepted) +
         elementary::log(1 - static_cast<double>(random.uniform(first + 3))) / shape;
}

/// A Beta(alpha, alpha) variable, from the draws of a sample.
double beta_variable(double alpha, const RandomStream& random, std::uint64_t sample) {
  // a / (a + b) of two gamma variables is a beta variable. Logarithms do not underflow for a small alpha.
  const std::uint64_t first = sample * 2 * kDraws;
  const double own = log_gamma_variable(alpha, random, first);
  const double other = log_gamma_variable(alpha, random, first + kDraws);
  return 1 / (1 + elementary::exp(other - own));
}

/// The part inside of [0, extent) of `length` indices around a random one.
Range range_around(std::int64_t length, std::int64_t extent, const RandomStream& random, std::uint64_t draw) {
  const auto centre = static_cast<std::int64_t>(random.below(draw, static_cast<std::uint64_t>(extent)));
  const std::int64_t first = centre - length / 2;
  return {std::max<std::int64_t>(0, first), std::min(extent, first + length)};
}

}  // namespace

Mixing::Partner Mixing::partner(std::int64_t sample, std::int64_t epoch) const {
  const auto index = static_cast<std::uint64_t>(sample), moment = static_cast<std::uint64_t>(epoch);
  const RandomStream partners(options_.seed, "mixup partner", moment);
  Partner result{.sample = static_cast<std::int64_t>(
                     partners.below(index, static_cast<std::uint64_t>(options_.samples)))};
  const bool has_both = options_.mixup > 0 && options_.cutmix > 0;
  result.is_cut = options_.cutmix > 0 &&
                  (!has_both || RandomStream(options_.seed, "mixing kind", moment).below(index, 2) == 1);
  if (!result.is_cut) {
    const RandomStream shares(options_.seed, "mixup share", moment);
    const double share = beta_variable(options_.mixup, shares, index);
    result.share = static_cast<float>(std::max(share, 1 - share));
    return result;
  }
  const RandomStream shares(options_.seed, "cutmix share", moment);
  const RandomStream places(options_.seed, "cutmix place", moment);
  const std::int64_t height = options_.sample[0], width = options_.sample[1];
  const double side = std::sqrt(1 - beta_variable(options_.cutmix, shares, index));
  const auto part_of_side = [side](std::int64_t extent) {
    return static_cast<std::int64_t>(side * static_cast<double>(extent));
  };
  result.rows = range_around(part_of_side(height), height, places, 2 * index);
  result.columns = range_around(part_of_side(width), width, places, 2 * index + 1);
  const auto covered = static_cast<double>(result.rows.count() * result.columns.count());
  result.share = static_cast<float>(1 - covered / static_cast<double>(height * width));
  return result;
}

void Mixing::mix(const Partner& partner, const float* other, float* own) const {
  if (!partner.is_cut) {
    for (std::int64_t i = 0; i < options_.sample.size(); ++i)
      own[i] = partner.share * own[i] + (1 - partner.share) * other[i];
    return;
  }
  const std::int64_t width = options_.sample[1], channels = options_.sample[2];
  for (std::int64_t row = partner.rows.first; row < partner.rows.last; ++row) {
    const std::int64_t first = (row * width + partner.columns.first) * channels;
    std::copy_n(other + first, partner.columns.count() * channels, own + first);
  }
}

}  // namespace trainer
