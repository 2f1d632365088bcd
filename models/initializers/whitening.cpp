#include "models/initializers/whitening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

constexpr std::int64_t kImages = 5000, kAtOnce = 50;
constexpr std::int64_t kProducts = 4'000'000'000;  ///< a few seconds: large images are fewer

/// A symmetric matrix (size, size), row by row.
struct Symmetric {
  explicit Symmetric(std::size_t extent) : size(extent), values(extent * extent) {}
  double& at(std::size_t row, std::size_t column) { return values[row * size + column]; }

  std::size_t size;
  std::vector<double> values;
};

/// Jacobi's method (1846): rotations that make `matrix` diagonal; the columns of the result are eigenvectors.
Symmetric eigenvectors(Symmetric& matrix) {
  const std::size_t n = matrix.size;
  Symmetric vectors(n);
  for (std::size_t i = 0; i < n; ++i) vectors.at(i, i) = 1;
  constexpr int kSweeps = 30;  // it converges quadratically: 10 are plenty
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (matrix.at(p, q) == 0) continue;
        const double ratio = (matrix.at(q, q) - matrix.at(p, p)) / (2 * matrix.at(p, q));
        const double tangent = std::copysign(1 / (std::fabs(ratio) + std::sqrt(ratio * ratio + 1)), ratio);
        const double cosine = 1 / std::sqrt(tangent * tangent + 1), sine = tangent * cosine;
        const auto rotate = [&](double& a, double& b) {
          const double old = a;
          a = cosine * old - sine * b;
          b = sine * old + cosine * b;
        };
        for (std::size_t k = 0; k < n; ++k) rotate(matrix.at(k, p), matrix.at(k, q));
        for (std::size_t k = 0; k < n; ++k) rotate(matrix.at(p, k), matrix.at(q, k));
        for (std::size_t k = 0; k < n; ++k) rotate(vectors.at(k, p), vectors.at(k, q));
      }
  return vectors;
}

/// The mean of x x' over all patches x of the images, whose elements are in the order of a kernel's.
Symmetric patch_covariance(const Dataset& images, std::int64_t kernel_h, std::int64_t kernel_w) {
  const Shape& sample = images.sample();
  const std::int64_t height = sample[0], width = sample[1], line = kernel_w * sample[2];
  Symmetric sums(static_cast<std::size_t>(kernel_h * line));
  std::vector<float> pixels(static_cast<std::size_t>(kAtOnce * sample.size()));
  std::vector<double> patch(sums.size);
  std::int64_t patches = 0;
  const std::int64_t products =
      Shape{height, width, kernel_h * line, kernel_h * line}.size() / 2;  // of an image
  const std::int64_t used = std::min(
      {images.size(), kImages, std::max<std::int64_t>(1, kProducts / std::max<std::int64_t>(products, 1))});
  for (std::int64_t first = 0; first < used; first += kAtOnce) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(kAtOnce, used - first)));
    std::iota(indices.begin(), indices.end(), first);
    const Tensor some(pixels.data(), sample.with_front(std::ssize(indices)));
    images.read(indices, some);
    for (std::int64_t image = 0; image < some.rows(); ++image)
      for (std::int64_t row = 0; row + kernel_h <= height; ++row)
        for (std::int64_t column = 0; column + kernel_w <= width; ++column, ++patches) {
          for (std::int64_t h = 0; h < kernel_h; ++h)
            std::copy_n(some.data() + image * sample.size() + ((row + h) * width + column) * sample[2], line,
                        patch.begin() + h * line);
          for (std::size_t i = 0; i < sums.size; ++i)
            for (std::size_t k = 0; k <= i; ++k) sums.at(i, k) += patch[i] * patch[k];
        }
  }
  for (std::size_t i = 0; i < sums.size; ++i)
    for (std::size_t k = 0; k <= i; ++k)
      sums.at(k, i) = sums.at(i, k) /= static_cast<double>(std::max<std::int64_t>(patches, 1));
  return sums;
}

/// Holds the place of the values that whiten() gives.
class Whitening final : public Initializer {
 public:
  void fill(const Parameter&, const RandomStream&, std::span<float> whole) const override {
    std::ranges::fill(whole, 0.0f);
  }
};

const Registry<Initializer>::Add whitening_initializer{
    {.name = "whitening",
     .help = "first convolution of images: its outputs have covariance 1 over the training images",
     .primary = "epsilon",
     .settings = {real("epsilon", "added to eigenvalues").above(0).fallback("5.0e-4")}},
    [](const Config&) { return std::make_unique<Whitening>(); }};

}  // namespace

bool is_whitened(const Parameter& parameter) {
  return parameter.is_weight && parameter.init && parameter.init->type() == "whitening";
}

void check_whitening(const Parameter& parameter, const Shape& sample) {
  const Config& init = *parameter.init;
  const Shape& shape = parameter.shape;
  const bool fits = parameter.layout == FileLayout::convolution && shape.rank() == 4 &&
                    parameter.offset == 0 && sample.rank() == 3 && shape[2] == sample[2];
  if (!fits)
    init.fail("", parameter.name + " is not the kernel of a first convolution of images",
              "`whitening` in the first layer, a `conv`; another initializer elsewhere");
  const std::int64_t size = shape[0] * shape[1] * shape[2], filters = shape[3];
  if (filters > 2 * size)
    init.fail(
        "", fmt::format("{} filters, and patches of {} elements have {} directions", filters, size, 2 * size),
        fmt::format("at most {} filters", 2 * size));
}

void whiten(const Parameter& parameter, const Dataset& images, std::span<float> kernel) {
  const Shape& shape = parameter.shape;
  const std::int64_t filters = shape[3];
  const double epsilon = parameter.init->get<double>("epsilon");
  Symmetric covariance = patch_covariance(images, shape[0], shape[1]);
  Symmetric vectors = eigenvectors(covariance);
  std::vector<std::size_t> order(covariance.size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return covariance.at(i, i); });
  const auto half = static_cast<std::size_t>((filters + 1) / 2);
  for (std::size_t filter = 0; filter < static_cast<std::size_t>(filters); ++filter) {
    const std::size_t from = order[filter % half];
    const double value = std::max(covariance.at(from, from), 0.0) + epsilon;
    const double factor = (filter < half ? 1 : -1) / std::sqrt(value);
    for (std::size_t i = 0; i < covariance.size; ++i)
      kernel[i * static_cast<std::size_t>(filters) + filter] =
          static_cast<float>(factor * vectors.at(i, from));
  }
}

}  // namespace trainer
