#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "datasets/loading/augmentation.h"
#include "datasets/readers/pixels.h"
#include "engine/config/config_tree.h"

namespace trainer {
namespace {

const Shape kImage{2, 3, 3};
using Image = std::vector<float>;
const Image kColours = {0.9f, 0.1f, 0.2f, 0.3f, 0.8f, 0.3f, 0.2f, 0.3f, 0.7f,
                        0.5f, 0.5f, 0.5f, 0.8f, 0.7f, 0.1f, 0.4f, 0.6f, 0.9f};

Augmentation jitter(const std::string& settings, const Shape& sample = kImage) {
  const ConfigTree tree({.file = "run.yaml", .text = "augment: [color_jitter: {" + settings + "}]\n"},
                        {list_of("augment", "changes", family("", "a change", "transform"))});
  return {tree.root().items("augment"), sample, 1};
}

Image changed(const Augmentation& augmentation, Image x, std::int64_t index) {
  augmentation.apply({&index, 1}, 0, {x.data(), kImage.with_front(1)}, {});
  return x;
}

/// One image, and nothing of it in memory.
class NoSamples final : public Dataset {
 public:
  NoSamples() : Dataset({.size = 1, .sample = kImage, .classes = 1}) {}
  void read(std::span<const std::int64_t>, Tensor) const override {}
};

}  // namespace

TEST_CASE("colours change by no more than their limits, and by all of them", "[transforms]") {
  const Augmentation light = jitter("brightness: 0.3, contrast: 0, saturation: 0");
  float darkest = 1, lightest = 0;
  for (std::int64_t index = 0; index < 200; ++index) {
    const float middle = changed(light, kColours, index)[9];
    darkest = std::min(darkest, middle);
    lightest = std::max(lightest, middle);
  }
  CHECK(darkest == Approx(0.35).margin(0.01));
  CHECK(lightest == Approx(0.65).margin(0.01));
}

TEST_CASE("hue leaves gray alone, and contrast, saturation and hue change the rest", "[transforms]") {
  const std::string strong =
      GENERATE("brightness: 0, contrast: 0.5, saturation: 0", "brightness: 0, contrast: 0, saturation: 0.5",
               "brightness: 0, contrast: 0, saturation: 0, hue: 0.5");
  INFO(strong);
  const Image got = changed(jitter(strong), kColours, 3);
  float change = 0;
  for (std::size_t i = 0; i < got.size(); ++i) change = std::max(change, std::fabs(got[i] - kColours[i]));
  CHECK(change > 0.02f);
  const bool keeps_gray = strong.find("contrast: 0,") != std::string::npos;
  if (keeps_gray)
    for (const std::size_t i : {9u, 10u, 11u}) CHECK(got[i] == Approx(0.5).margin(1e-4));
}

TEST_CASE("whatever the order of changes, pixels stay from 0 to 1", "[transforms]") {
  const Augmentation all = jitter("brightness: 1, contrast: 1, saturation: 1, hue: 0.5");
  for (std::int64_t index = 0; index < 100; ++index)
    for (const float number : changed(all, kColours, index)) CHECK((number >= 0 && number <= 1));
}

TEST_CASE("normalised images change as they would have before", "[transforms]") {
  const ChannelStatistics statistics{{0.4f, 0.5f, 0.3f}, {0.2f, 0.3f, 0.25f}};
  Normalised normalised(std::make_unique<NoSamples>());
  normalised.use(statistics);
  const Augmentation plain = jitter("hue: 0.2");
  Augmentation augmentation = jitter("hue: 0.2");
  augmentation.reads_from(normalised);
  for (std::int64_t index = 0; index < 20; ++index) {
    const Image expected = changed(plain, kColours, index);
    Image x = kColours;
    const Tensor rows(x.data(), kImage.with_front(1));
    normalised.normalise(rows);
    x = changed(augmentation, x, index);
    normalised.denormalise({x.data(), kImage.with_front(1)});
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == Approx(expected[i]).margin(1e-5));
  }
}

TEST_CASE("colours of images with two channels are not known", "[transforms]") {
  CHECK_THROWS_WITH(jitter("hue: 0.1", {4, 4, 2}), Catch::Contains("1 or 3 channels, but a sample is 4x4x2"));
}

}  // namespace trainer
