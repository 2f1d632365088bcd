#include <cmath>
#include <vector>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// Rows or columns of unit length at right angles, evenly distributed among all such (Saxe, McClelland and
/// Ganguli 2014). The matrix of a convolution has one row for each element of a filter.
class Orthogonal final : public Initializer {
 public:
  explicit Orthogonal(const Config& config) : gain_(config.get<double>("gain")) {}

  void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const override {
    const Shape& shape = parameter.whole_shape();
    const auto columns = static_cast<std::size_t>(shape[shape.rank() - 1]);
    const std::size_t rows = whole.size() / columns;
    // Vectors along the longer extent, as many as the shorter one.
    const bool along_rows = rows >= columns;
    const std::size_t count = along_rows ? columns : rows, length = along_rows ? rows : columns;
    std::vector<double> vectors(count * length);
    for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = static_cast<double>(stream.normal(i));
    for (std::size_t v = 0; v < count; ++v) make_orthogonal(vectors, v, length);
    for (std::size_t v = 0; v < count; ++v)
      for (std::size_t i = 0; i < length; ++i)
        whole[along_rows ? i * columns + v : v * columns + i] =
            static_cast<float>(gain_ * vectors[v * length + i]);
  }

 private:
  /// Gram and Schmidt, twice, after which nothing but rounding is left of the vectors before.
  static void make_orthogonal(std::vector<double>& vectors, std::size_t index, std::size_t length) {
    double* const own = vectors.data() + index * length;
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t before = 0; before < index; ++before) {
        const double* const other = vectors.data() + before * length;
        double dot = 0;
        for (std::size_t i = 0; i < length; ++i) dot += own[i] * other[i];
        for (std::size_t i = 0; i < length; ++i) own[i] -= dot * other[i];
      }
    double square = 0;
    for (std::size_t i = 0; i < length; ++i) square += own[i] * own[i];
    const double factor = 1 / std::sqrt(square);
    for (std::size_t i = 0; i < length; ++i) own[i] *= factor;
  }

  double gain_;
};

const Registry<Initializer>::Add orthogonal_initializer{
    {.name = "orthogonal",
     .help = "orthogonal matrix: rows or columns of equal length at right angles",
     .primary = "gain",
     .settings = {real("gain", "length of the vectors").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Orthogonal>(config); }};

}  // namespace
}  // namespace trainer
