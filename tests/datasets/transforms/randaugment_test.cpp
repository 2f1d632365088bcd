#include <catch2/catch.hpp>
#include <set>

#include "datasets/loading/augmentation.h"
#include "engine/config/config_tree.h"

namespace trainer {
namespace {

const Shape kImage{16, 20, 3};
using Image = std::vector<float>;

Augmentation randaugment(const std::string& settings, const Shape& sample = kImage) {
  const ConfigTree tree({.file = "run.yaml", .text = "augment: [randaugment: " + settings + "]\n"},
                        {list_of("augment", "changes", family("", "a change", "transform"))});
  return {tree.root().items("augment"), sample, 1};
}

/// Values of bytes, 80 of them in each channel.
Image image() {
  Image x(static_cast<std::size_t>(kImage.size()));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(20 + (i / 3 * 37 + i % 3 * 11) % 80 * 2) / 255;
  return x;
}

Image changed(const Augmentation& augmentation, std::int64_t index, std::int64_t epoch = 0) {
  Image x = image();
  Image scratch(static_cast<std::size_t>(augmentation.scratch()));
  augmentation.apply({&index, 1}, epoch, {x.data(), kImage.with_front(1)}, scratch);
  return x;
}

}  // namespace

TEST_CASE("one operation of randaugment is one of 14, in either direction", "[transforms]") {
  const Augmentation one = randaugment("{operations: 1, magnitude: 20}");
  std::set<Image> seen;
  for (std::int64_t index = 0; index < 1000; ++index) {
    seen.insert(changed(one, index));
    for (const float value : changed(one, index)) {
      REQUIRE(value >= 0);
      REQUIRE(value <= 1);
    }
  }
  // The image itself; 5 geometric and 4 other operations in both directions; 4 have none.
  CHECK(seen.size() == 1 + 2 * 9 + 4);
  CHECK(seen.contains(image()));
}

TEST_CASE("randaugment at magnitude 0 leaves an image, but for its tones", "[transforms]") {
  const Augmentation none = randaugment("{operations: 1, magnitude: 0}");
  std::set<Image> seen;
  for (std::int64_t index = 0; index < 300; ++index) {
    Image got = changed(none, index);
    bool is_same = true;
    for (std::size_t i = 0; i < got.size(); ++i) is_same &= got[i] == Approx(image()[i]).margin(1e-5);
    if (!is_same) seen.insert(std::move(got));
  }
  CHECK(seen.size() == 2);  // autocontrast and equalize
}

TEST_CASE("randaugment depends on epoch and sample", "[transforms]") {
  const Augmentation strong = randaugment("{operations: 3, magnitude: 15}");
  CHECK(changed(strong, 5, 1) == changed(strong, 5, 1));
  std::set<Image> seen;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) seen.insert(changed(strong, 5, epoch));
  CHECK(seen.size() > 40);
}

TEST_CASE("randaugment refuses images of two channels", "[transforms]") {
  CHECK_THROWS_WITH(randaugment("9", {8, 8, 2}),
                    Catch::Contains("randaugment requires images of 1 or 3 channels"));
}

}  // namespace trainer
