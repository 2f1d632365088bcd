#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/elementary.h"
#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// The spectral radius of a square matrix by power iteration from a random vector; the mean growth also holds
/// for a pair of complex eigenvalues.
double spectral_radius(std::span<const float> matrix, const RandomStream& stream) {
  constexpr int kSettling = 1000, kMeasured = 4000;
  const auto size = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(matrix.size()))));
  std::vector<double> vector(size), next(size);
  // Random numbers that no weight uses.
  for (std::size_t i = 0; i < size; ++i)
    vector[i] = static_cast<double>(stream.normal((std::uint64_t{1} << 48) + 2 * i));
  double growth = 0;
  for (int step = 0; step < kSettling + kMeasured; ++step) {
    std::ranges::fill(next, 0.0);
    for (std::size_t row = 0; row < size; ++row)
      for (std::size_t column = 0; column < size; ++column)
        next[column] += vector[row] * static_cast<double>(matrix[row * size + column]);
    double square = 0;
    for (const double value : next) square += value * value;
    if (square == 0) return 0;
    const double length = std::sqrt(square);
    std::ranges::transform(next, vector.begin(), [length](double value) { return value / length; });
    if (step >= kSettling) growth += elementary::log(length);
  }
  return elementary::exp(growth / kMeasured);
}

/// Every output begins with a few normally distributed weights, and zeros elsewhere (Martens 2010). Square
/// weights can be scaled to a spectral radius, for recurrent layers (Sutskever et al. 2013).
class Sparse final : public Initializer {
 public:
  explicit Sparse(const Config& config)
      : count_(config.get<std::int64_t>("count")),
        deviation_(config.get<float>("std")),
        eigenvalue_(config.has("eigenvalue") ? config.get<double>("eigenvalue") : 0) {}

  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    std::ranges::fill(whole, 0.0f);
    const Shape& shape = parameter.whole_shape();
    const std::int64_t outputs = shape[shape.rank() - 1], inputs = std::ssize(whole) / outputs;
    std::uint64_t draw = 0;
    for (std::int64_t output = 0; output < outputs; ++output)
      for (std::int64_t left = std::min(count_, inputs); left > 0;) {
        const auto input =
            static_cast<std::int64_t>(stream.below(2 * draw, static_cast<std::uint64_t>(inputs)));
        float& weight = whole[static_cast<std::size_t>(input * outputs + output)];
        const float value = deviation_ * stream.normal(2 * draw + 1);
        ++draw;
        if (weight != 0) continue;
        weight = value;
        left -= value != 0;
      }
    if (eigenvalue_ > 0 && shape.rank() == 2 && inputs == outputs) scale(stream, whole);
  }

 private:
  void scale(const RandomStream& stream, std::span<float> whole) const {
    const double radius = spectral_radius(whole, stream);
    if (radius == 0) return;  // some power of it is zero
    const auto factor = static_cast<float>(eigenvalue_ / radius);
    for (float& weight : whole) weight *= factor;
  }

  std::int64_t count_;
  float deviation_;
  double eigenvalue_;  ///< 0: as it comes
};

const Registry<Initializer>::Add sparse_initializer{
    {.name = "sparse",
     .help = "a few weights of each output normally distributed, the others 0",
     .primary = "count",
     .settings =
         {integer("count", "weights of each output that are not 0").at_least(1).fallback("15"),
          real("std", "standard deviation of those weights").at_least(1e-30).fallback("1"),
          real("eigenvalue",
               "spectral radius to which square weights, such as the recurrent ones of rnn, are scaled")
              .above(0)
              .optional()}},
    [](const Config& config) { return std::make_unique<Sparse>(config); }};

}  // namespace
}  // namespace trainer
