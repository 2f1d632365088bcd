#include "datasets/loading/mixing.h"

#include <set>

#include "datasets/loading/target_rows.h"
#include "tests/datasets/files.h"

namespace trainer {

TEST_CASE("shares of mixup follow a beta distribution, and partners come from all samples", "[mixup]") {
  const double alpha = GENERATE(0.05, 0.2, 1.0, 8.0);
  const Mixing mixup({.mixup = alpha, .samples = 100, .seed = 3});
  std::set<std::int64_t> partners;
  double spread = 0;
  constexpr std::int64_t kDraws = 20000;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    const Mixing::Partner partner = mixup.partner(draw % 100, draw / 100);
    REQUIRE(partner.share >= 0.5f);
    REQUIRE(partner.share <= 1);
    REQUIRE(partner.sample >= 0);
    REQUIRE(partner.sample < 100);
    partners.insert(partner.sample);
    spread += static_cast<double>(partner.share) * (1 - static_cast<double>(partner.share)) / kDraws;
  }
  // The mean of b (1 - b), which is the same for 1 - b.
  INFO(alpha);
  CHECK(spread == Approx(alpha / (2 * (2 * alpha + 1))).epsilon(0.03));
  CHECK(partners.size() == 100);
}

TEST_CASE("a sample's partner follows from seed, epoch and sample", "[mixup]") {
  const auto mixing = [](std::uint64_t seed) { return Mixing({.mixup = 1, .samples = 1000, .seed = seed}); };
  const Mixing one = mixing(1), same = mixing(1), other = mixing(2);
  int repeated = 0;
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    CHECK(one.partner(sample, 5).sample == same.partner(sample, 5).sample);
    CHECK(one.partner(sample, 5).share == same.partner(sample, 5).share);
    repeated += one.partner(sample, 5).sample == one.partner(sample, 6).sample ? 1 : 0;
    repeated += one.partner(sample, 5).sample == other.partner(sample, 5).sample ? 1 : 0;
  }
  CHECK(repeated < 5);
}

TEST_CASE("targets are mixed like their samples", "[mixup]") {
  const Mixing mixup({.mixup = 1, .samples = 1024});
  const std::vector<std::int64_t> samples = {7, 900, 7};
  const Data labels = opened("dataset: {synthetic: {shape: [4]}}\nmixup: 1");
  TargetRows rows;
  const Targets& mixed = rows.read(*labels.train, samples, labels.mixing, 4);
  const Data regression = opened("dataset: {synthetic: {shape: [4], target: [2]}}\nmixup: 1");
  TargetRows value_rows;
  const Targets& values = value_rows.read(*regression.train, samples, regression.mixing, 4);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const Mixing::Partner partner = mixup.partner(samples[row], 4);
    CHECK(mixed.labels[row] == labels.train->label(samples[row]));
    CHECK(mixed.other_labels[row] == labels.train->label(partner.sample));
    CHECK(mixed.shares[row] == partner.share);
    std::vector<float> own(2), other(2);
    regression.train->read_targets({&samples[row], 1}, {own.data(), {1, 2}});
    regression.train->read_targets({&partner.sample, 1}, {other.data(), {1, 2}});
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(values.values.data()[2 * row + i] ==
            Approx(partner.share * own[i] + (1 - partner.share) * other[i]));
  }
  CHECK(values.other_labels.empty());
  const Targets last = mixed.rows(1, 2);
  CHECK(last.other_labels[0] == mixed.other_labels[1]);
  CHECK(last.shares[1] == mixed.shares[2]);
}

TEST_CASE("cutmix copies a rectangle of another image, whose pixels are its share", "[mixup]") {
  constexpr std::int64_t kHeight = 8, kWidth = 12, kChannels = 3;
  const Mixing cutmix({.cutmix = 1, .samples = 50, .sample = {kHeight, kWidth, kChannels}, .seed = 3});
  double total = 0;
  constexpr std::int64_t kDraws = 3000;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    const Mixing::Partner partner = cutmix.partner(draw % 50, draw / 50);
    std::vector<float> own(kHeight * kWidth * kChannels, 1), other(own.size());
    cutmix.mix(partner, other.data(), own.data());
    double kept = 0;
    for (std::int64_t row = 0; row < kHeight; ++row)
      for (std::int64_t column = 0; column < kWidth; ++column) {
        const auto at = static_cast<std::size_t>((row * kWidth + column) * kChannels);
        const bool is_inside = row >= partner.rows.first && row < partner.rows.last &&
                               column >= partner.columns.first && column < partner.columns.last;
        REQUIRE(own[at] == (is_inside ? 0.0f : 1.0f));
        kept += static_cast<double>(own[at]);
      }
    REQUIRE(static_cast<double>(partner.share) == Approx(kept / (kHeight * kWidth)));
    total += static_cast<double>(partner.share);
  }
  // A half before rectangles are cut at the border and to whole pixels.
  CHECK(total / kDraws > 0.5);
  CHECK(total / kDraws < 0.75);
}

TEST_CASE("beside mixup, cutmix mixes half of the samples", "[mixup]") {
  const Mixing both({.mixup = 0.2, .cutmix = 1, .samples = 100, .sample = {4, 4, 1}});
  int cut = 0;
  for (std::int64_t sample = 0; sample < 1000; ++sample) cut += both.partner(sample, 0).is_cut ? 1 : 0;
  CHECK(cut > 440);
  CHECK(cut < 560);
}

TEST_CASE("cutmix refuses samples that are no images", "[mixup]") {
  CHECK_THROWS_WITH(opened("dataset: {synthetic: {shape: [4]}}\ncutmix: 1"),
                    Catch::Contains("cutmix requires images, but a sample is 4"));
}

}  // namespace trainer
