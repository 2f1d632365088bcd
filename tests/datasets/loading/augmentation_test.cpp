#include "datasets/loading/augmentation.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <string>

#include "datasets/transforms/views.h"
#include "engine/config/config_tree.h"

namespace trainer {
namespace {

const Shape kImage{3, 5, 2};
constexpr std::int64_t kSize = 3 * 5 * 2;

/// `augment:` as a user writes it.
Augmentation augmentation(const std::string& transforms, const Shape& sample = kImage,
                          std::uint64_t seed = 1) {
  const ConfigTree tree({.file = "run.yaml", .text = "augment: " + transforms + "\n"},
                        {list_of("augment", "changes", family("", "a change", "transform"))});
  return {tree.root().items("augment"), sample, seed};
}

/// Every number of every image is another one, and none is 0.
std::vector<float> image(std::int64_t index) {
  std::vector<float> values(kSize);
  std::iota(values.begin(), values.end(), static_cast<float>(index * kSize + 1));
  return values;
}

std::vector<float> augmented(const Augmentation& augmentation, std::int64_t index, std::int64_t epoch = 0) {
  std::vector<float> x = image(index);
  std::vector<float> scratch(static_cast<std::size_t>(augmentation.scratch()));
  augmentation.apply({&index, 1}, epoch, {x.data(), kImage.with_front(1)}, scratch);
  return x;
}

std::vector<float> moved(const std::vector<float>& from, std::int64_t down, std::int64_t right) {
  std::vector<float> to(from.size());
  for (std::int64_t h = 0; h < 3; ++h)
    for (std::int64_t w = 0; w < 5; ++w)
      for (std::int64_t c = 0; c < 2; ++c)
        if (h + down >= 0 && h + down < 3 && w + right >= 0 && w + right < 5)
          to[static_cast<std::size_t>((h * 5 + w) * 2 + c)] =
              from[static_cast<std::size_t>(((h + down) * 5 + w + right) * 2 + c)];
  return to;
}

std::vector<float> mirrored(const std::vector<float>& from) {
  std::vector<float> to(from.size());
  for (std::size_t h = 0; h < 3; ++h)
    for (std::size_t w = 0; w < 5; ++w)
      for (std::size_t c = 0; c < 2; ++c) to[(h * 5 + w) * 2 + c] = from[(h * 5 + 4 - w) * 2 + c];
  return to;
}

}  // namespace

TEST_CASE("a random crop is the image moved by up to pad pixels, with zeros beyond it", "[augment]") {
  const Augmentation crop = augmentation("[{random_crop: {pad: 2}}]");
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::int64_t index = 0; index < 300; ++index) {
    const std::vector<float> got = augmented(crop, index);
    bool found = false;
    for (std::int64_t down = -2; down <= 2; ++down)
      for (std::int64_t right = -2; right <= 2; ++right)
        if (got == moved(image(index), down, right)) {
          seen.emplace(down, right);
          found = true;
        }
    CHECK(found);
  }
  CHECK(seen.size() == 25);
}

TEST_CASE("half of the images are mirrored, the others stay", "[augment]") {
  const Augmentation flip = augmentation("[horizontal_flip]");
  int mirror_images = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const std::vector<float> got = augmented(flip, index);
    if (got == image(index)) continue;
    CHECK(got == mirrored(image(index)));
    ++mirror_images;
  }
  CHECK(mirror_images > 440);
  CHECK(mirror_images < 560);
}

TEST_CASE("an alternating flip shows both views of an image in any two epochs, and half of them mirrored",
          "[augment]") {
  const Augmentation flip = augmentation("[horizontal_flip: {alternate: true}]");
  int mirror_images = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const bool starts_mirrored = augmented(flip, index, 0) != image(index);
    mirror_images += starts_mirrored ? 1 : 0;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch)
      CHECK(augmented(flip, index, epoch) ==
            ((epoch % 2 == 0) == starts_mirrored ? mirrored(image(index)) : image(index)));
  }
  CHECK(mirror_images > 440);
  CHECK(mirror_images < 560);
}

TEST_CASE("a crop that reflects shows the mirror image beyond the edges", "[augment]") {
  const Augmentation crop = augmentation("[random_crop: {pad: 2, edge: reflect}]");
  const auto reflected = [](const std::vector<float>& from, std::int64_t down, std::int64_t right) {
    const auto place = [](std::int64_t index, std::int64_t extent) {
      return index < 0 ? -index : index < extent ? index : 2 * extent - 2 - index;
    };
    std::vector<float> to(from.size());
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t w = 0; w < 5; ++w)
        for (std::int64_t c = 0; c < 2; ++c)
          to[static_cast<std::size_t>((h * 5 + w) * 2 + c)] =
              from[static_cast<std::size_t>((place(h + down, 3) * 5 + place(w + right, 5)) * 2 + c)];
    return to;
  };
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::int64_t index = 0; index < 500; ++index)
    for (std::int64_t down = -2; down <= 2; ++down)
      for (std::int64_t right = -2; right <= 2; ++right)
        if (augmented(crop, index) == reflected(image(index), down, right)) seen.emplace(down, right);
  CHECK(seen.size() == 25);
}

TEST_CASE("views of an image share the mean, and half of it shows the image mirrored", "[augment]") {
  const Views views = GENERATE(Views::one, Views::mirror, Views::mirror_shift);
  float total = 0, of_mirrored = 0;
  for (const View& view : all_of(views)) {
    total += view.share;
    of_mirrored += view.is_mirrored ? view.share : 0;
    std::vector<float> shown = image(1), scratch(shown.size());
    show(view, shown.data(), {3, 5, 2}, scratch);
    const std::vector<float> turned = view.is_mirrored ? mirrored(shown) : shown;
    // The middle is no edge.
    CHECK(turned[(1 * 5 + 2) * 2] ==
          image(1)[static_cast<std::size_t>(((1 + view.shift) * 5 + 2 + view.shift) * 2)]);
  }
  CHECK(total == 1);
  CHECK(of_mirrored == (views == Views::one ? 0.0f : 0.5f));
}

TEST_CASE("a shifted view of an image of one row stays in that row", "[augment]") {
  const View view{.shift = 1};
  std::vector<float> shown{1, 2, 3}, scratch(shown.size());
  show(view, shown.data(), {1, 3, 1}, scratch);
  CHECK(shown == std::vector<float>{2, 3, 2});
}

TEST_CASE("the augmentation of a sample depends on seed, epoch and sample, not on its place in a batch",
          "[augment]") {
  const std::string both = "[{random_crop: {pad: 2}}, horizontal_flip]";
  const Augmentation one = augmentation(both), other = augmentation(both, kImage, 2);
  const std::vector<std::int64_t> batch = {17, 3, 99, 4, 3};
  std::vector<float> rows;
  for (const std::int64_t index : batch)
    for (const float number : image(index)) rows.push_back(number);
  one.apply(batch, 6, {rows.data(), kImage.with_front(5)}, {});
  for (std::size_t row = 0; row < batch.size(); ++row)
    CHECK(std::vector<float>(rows.begin() + static_cast<std::ptrdiff_t>(row * kSize),
                             rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * kSize)) ==
          augmented(one, batch[row], 6));

  int changed_by_epoch = 0, changed_by_seed = 0;
  for (std::int64_t index = 0; index < 100; ++index) {
    changed_by_epoch += augmented(one, index, 0) != augmented(one, index, 1) ? 1 : 0;
    changed_by_seed += augmented(one, index, 0) != augmented(other, index, 0) ? 1 : 0;
  }
  CHECK(changed_by_epoch > 90);
  CHECK(changed_by_seed > 90);
}

TEST_CASE("the same transform twice draws other values the second time", "[augment]") {
  const Augmentation twice = augmentation("[{random_crop: 1}, {random_crop: 1}]");
  std::set<std::vector<float>> seen;
  for (int epoch = 0; epoch < 300; ++epoch) seen.insert(augmented(twice, 0, epoch));
  CHECK(seen.size() > 13);  // equal draws would give at most 9
}

TEST_CASE("a transform that does not fit the samples is an error that points at it", "[augment]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(
      augmentation("[horizontal_flip]", {20}),
      Contains("horizontal_flip requires images, but a sample is 20") && Contains("run.yaml:1:11"));
  CHECK_THROWS_WITH(augmentation("[{random_crop: {pad: 3}}]"),
                    Contains("could miss the image, which is 2x3x5"));
}

}  // namespace trainer
