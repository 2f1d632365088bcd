#include "datasets/transforms/normalised.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "datasets/readers/pixels.h"
#include "datasets/subset.h"

namespace trainer {
namespace {

/// Pixels and labels that a test thought of.
class GivenPixels final : public PixelFiles {
 public:
  GivenPixels(std::vector<std::uint8_t> pixels, std::vector<std::uint8_t> labels)
      : pixels_(std::move(pixels)), labels_(std::move(labels)) {}
  std::int64_t count() const override { return std::ssize(labels_); }
  void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) override {
    std::ranges::copy(labels_, labels.begin());
    std::ranges::copy(pixels_, pixels.begin());
  }

 private:
  std::vector<std::uint8_t> pixels_, labels_;
};

/// A data set with the memory that it lies in.
struct Images {
  std::vector<std::uint8_t> memory;
  std::unique_ptr<Pixels> pixels;

  Images(const Shape& sample, int classes, std::vector<std::uint8_t> bytes, std::vector<std::uint8_t> labels)
      : pixels(std::make_unique<Pixels>(sample, classes,
                                        std::make_unique<GivenPixels>(std::move(bytes), std::move(labels)))) {
    memory.resize(static_cast<std::size_t>(pixels->stored_bytes()));
    pixels->fill(memory);
    pixels->attach(memory);
  }
};

/// `count` images of 2x1 pixels with 3 channels, the last one constant.
Images make_images(std::size_t count) {
  std::vector<std::uint8_t> pixels, labels;
  for (std::size_t i = 0; i < count * 2; ++i) {
    pixels.push_back(static_cast<std::uint8_t>(i % 2 == 0 ? 0 : 255));
    pixels.push_back(static_cast<std::uint8_t>(i * 37 % 256));
    pixels.push_back(77);
  }
  for (std::size_t i = 0; i < count; ++i) labels.push_back(static_cast<std::uint8_t>(i % 5));
  return {Shape{2, 1, 3}, 5, pixels, labels};
}

}  // namespace

TEST_CASE("each channel has the mean and deviation of all its pixels", "[normalise]") {
  const Images images = make_images(1000);
  const ChannelStatistics statistics = channel_statistics(*images.pixels);
  CHECK(statistics.mean[0] == 0.5f);
  CHECK(statistics.deviation[0] == 0.5f);
  CHECK(statistics.mean[2] == Approx(77.0 / 255));
  CHECK(statistics.deviation[2] == 0);
}

TEST_CASE("normalised samples have mean 0 and deviation 1, a constant channel is 0", "[normalise]") {
  Images images = make_images(500);
  const ChannelStatistics statistics = channel_statistics(*images.pixels);
  Normalised normalised(std::move(images.pixels));
  normalised.use(statistics);
  const ChannelStatistics after = channel_statistics(normalised);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(after.mean[c] == Approx(0).margin(1e-6));
    CHECK(after.deviation[c] == Approx(1).epsilon(1e-6));
  }
  CHECK(after.mean[2] == 0);
  CHECK(normalised.label(7) == 2);
}

TEST_CASE("a deviation that is rounding of the mean leaves a channel 0", "[normalise]") {
  Images images = make_images(10);
  Normalised normalised(std::move(images.pixels));
  normalised.use({.mean = {0.5f, 0.5f, 77.0f / 255}, .deviation = {0.5f, 0.25f, 1e-8f}});
  CHECK(channel_statistics(normalised).mean[2] == 0);
  CHECK(channel_statistics(normalised).deviation[2] == 0);
}

TEST_CASE("a subset reads the samples it stands for, any number at once", "[subset]") {
  const Images images = make_images(300);
  std::vector<std::int64_t> odd, all(150);
  for (std::int64_t i = 1; i < 300; i += 2) odd.push_back(i);
  const Subset subset(*images.pixels, odd);
  REQUIRE(subset.size() == 150);
  for (std::int64_t i = 0; i < 150; ++i) {
    all[static_cast<std::size_t>(i)] = i;
    CHECK(subset.label(i) == images.pixels->label(2 * i + 1));
  }
  std::vector<float> expected(150 * 6), got(150 * 6);
  images.pixels->read(odd, {expected.data(), {150, 2, 1, 3}});
  subset.read(all, {got.data(), {150, 2, 1, 3}});
  CHECK(got == expected);
}

TEST_CASE("pixels become x / 255, every value of a byte", "[pixels]") {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const Images images({16, 16, 1}, 1, bytes, {0});
  std::vector<float> x(256);
  const std::int64_t index = 0;
  images.pixels->read({&index, 1}, {x.data(), {1, 16, 16, 1}});
  for (std::size_t i = 0; i < 256; ++i) CHECK(x[i] == static_cast<float>(i) / 255);
}

TEST_CASE("scale and shift are those of each channel that normalise() applies", "[normalise]") {
  Images images = make_images(20);
  const ChannelStatistics statistics = channel_statistics(*images.pixels);
  Normalised normalised(std::move(images.pixels));
  CHECK(normalised.scale().empty());
  normalised.use(statistics);
  REQUIRE(normalised.scale().size() == 3);
  std::vector<float> x{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  const std::vector<float> raw = x;
  normalised.normalise(Tensor(x.data(), Shape{1, 2, 1, 3}));
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(x[i] == Approx(normalised.scale()[i % 3] * raw[i] + normalised.shift()[i % 3]));
  CHECK(normalised.scale()[0] != normalised.scale()[1]);
}

}  // namespace trainer
