#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "datasets/loading/augmentation.h"
#include "datasets/transforms/warp.h"
#include "engine/config/config_tree.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

Augmentation augmentation(const std::string& transform, const Shape& sample, std::uint64_t seed = 1) {
  const ConfigTree tree({.file = "run.yaml", .text = "augment: [" + transform + "]\n"},
                        {list_of("augment", "changes", family("", "a change", "transform"))});
  return {tree.root().items("augment"), sample, seed};
}

/// A copy of `x`, changed as sample `index` of an epoch.
std::vector<float> changed(const Augmentation& augmentation, const Shape& sample, std::vector<float> x,
                           std::int64_t index = 0, std::int64_t epoch = 0) {
  std::vector<float> scratch(static_cast<std::size_t>(augmentation.scratch()), 7.0f);
  augmentation.apply({&index, 1}, epoch, {x.data(), sample.with_front(1)}, scratch);
  return x;
}

std::vector<float> ramp(const Shape& sample) {
  std::vector<float> x(static_cast<std::size_t>(sample.size()));
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

const std::vector<std::string> kAll = {"rotation", "{affine: {shear: 10}}", "elastic", "color_jitter",
                                       "cutout",   "random_resized_crop"};

}  // namespace

TEST_CASE("every transform follows from seed, epoch and sample, and changes with each", "[transforms]") {
  const std::string name = GENERATE(from_range(kAll));
  INFO(name);
  const Shape sample{9, 7, 3};
  const Augmentation one = augmentation(name, sample), other = augmentation(name, sample, 2);
  std::vector<float> x = ramp(sample);
  for (float& number : x) number /= 200;
  int by_index = 0, by_epoch = 0, by_seed = 0;
  for (std::int64_t index = 0; index < 50; ++index) {
    const std::vector<float> got = changed(one, sample, x, index);
    CHECK(got == changed(one, sample, x, index));
    for (const float number : got) CHECK(std::isfinite(number));
    by_index += got != changed(one, sample, x, index + 1) ? 1 : 0;
    by_epoch += got != changed(one, sample, x, index, 1) ? 1 : 0;
    by_seed += got != changed(other, sample, x, index) ? 1 : 0;
  }
  CHECK(by_index > 40);
  CHECK(by_epoch > 40);
  CHECK(by_seed > 40);

  // In a batch, at another place, with the same scratch memory as others.
  std::vector<float> rows;
  for (int row = 0; row < 3; ++row) rows.insert(rows.end(), x.begin(), x.end());
  const std::vector<std::int64_t> indices = {5, 17, 5};
  std::vector<float> scratch(static_cast<std::size_t>(one.scratch()));
  one.apply(indices, 3, {rows.data(), sample.with_front(3)}, scratch);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row * x.size());
    CHECK(std::vector<float>(first, first + static_cast<std::ptrdiff_t>(x.size())) ==
          changed(one, sample, x, indices[row], 3));
  }
}

TEST_CASE("transforms of images do not fit other samples", "[transforms]") {
  const std::string name = GENERATE(from_range(kAll));
  CHECK_THROWS_WITH(augmentation(name, {20}), Catch::Contains("requires images, but a sample is 20"));
}

TEST_CASE("a quarter turn puts every pixel where it belongs", "[transforms]") {
  const ImageExtents extents{3, 3, 1};
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, scratch(9);
  warp(x.data(), extents, {.row_row = 0, .row_column = 1, .column_row = -1, .column_column = 0}, scratch);
  CHECK(x == std::vector<float>{3, 6, 9, 2, 5, 8, 1, 4, 7});
  warp(x.data(), extents, {.row_shift = 1, .column_shift = 0.5f}, scratch);
  CHECK(x == std::vector<float>{3.5f, 6.5f, 4, 2.5f, 5.5f, 3.5f, 0, 0, 0});
}

TEST_CASE("a rotation keeps the middle, and angles stay within their limit", "[transforms]") {
  const Shape sample{21, 21, 1};
  const Augmentation rotation = augmentation("{rotation: 30}", sample);
  // A bright point 8 pixels right of the middle.
  std::vector<float> x(21 * 21);
  x[10 * 21 + 10] = 1;
  x[10 * 21 + 18] = 1;
  double least = 1, most = -1;
  for (std::int64_t index = 0; index < 200; ++index) {
    const std::vector<float> got = changed(rotation, sample, x, index);
    CHECK(got[10 * 21 + 10] == Approx(1).margin(0.01));
    double weight = 0, row = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t line = i / 21, column = i % 21;
      const auto r = static_cast<double>(line) - 10, c = static_cast<double>(column) - 10;
      if (r * r + c * c < 9) continue;
      weight += got[i];
      row += got[i] * r;
    }
    const double sine = row / weight / 8;
    CHECK(std::fabs(sine) < 0.52);
    least = std::min(least, sine);
    most = std::max(most, sine);
  }
  CHECK(least < -0.45);
  CHECK(most > 0.45);
}

TEST_CASE("bending moves pixels by at most its strength, and neighbours together", "[transforms]") {
  const Shape sample{32, 32, 1};
  std::vector<float> x(32 * 32);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 32);  // each pixel holds its column
  const Augmentation bend = augmentation("{elastic: {alpha: 20, sigma: 4}}", sample);
  double total = 0;
  for (std::int64_t index = 0; index < 20; ++index) {
    const std::vector<float> got = changed(bend, sample, x, index);
    for (std::size_t row = 8; row < 24; ++row)
      for (std::size_t column = 8; column < 24; ++column) {
        const std::size_t at = row * 32 + column;
        const float shift = got[at] - static_cast<float>(column);
        total += std::fabs(shift);
        CHECK(std::fabs(shift) < 8);
        CHECK(std::fabs(got[at + 32] - got[at]) < 1);
      }
  }
  const double mean = total / (20 * 16 * 16);
  CHECK(mean > 0.3);
  CHECK(mean < 2);
}

TEST_CASE("cutout blanks one square and leaves the rest", "[transforms]") {
  const Shape sample{8, 6, 2};
  const std::vector<float> x = ramp(sample);
  std::set<int> sizes;
  for (std::int64_t index = 0; index < 200; ++index) {
    const std::vector<float> got = changed(augmentation("{cutout: 4}", sample), sample, x, index);
    int blank = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK((got[i] == x[i] || got[i] == 0));
      blank += got[i] == 0 ? 1 : 0;
    }
    sizes.insert(blank / 2);
  }
  CHECK(*sizes.begin() >= 4);    // a corner
  CHECK(*sizes.rbegin() == 16);  // all of it
}

TEST_CASE("a crop of everything changes nothing, and one of a part shows that part", "[transforms]") {
  const Shape sample{6, 5, 1};
  const std::vector<float> x = ramp(sample);
  const std::vector<float> whole =
      changed(augmentation("{random_resized_crop: {area: 1, stretch: 1}}", sample), sample, x);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(whole[i] == Approx(x[i]).epsilon(1e-5));
  const Augmentation part = augmentation("{random_resized_crop: {area: 0.2}}", sample);
  double narrowest = 100;
  for (std::int64_t index = 0; index < 100; ++index) {
    const std::vector<float> got = changed(part, sample, x, index);
    const auto [low, high] = std::minmax_element(got.begin(), got.end());
    CHECK(*low >= 0.999f);
    CHECK(*high <= 30.001f);
    narrowest = std::min(narrowest, static_cast<double>(*high - *low));
  }
  CHECK(narrowest < 15);
}

}  // namespace trainer
