#include "datasets/loading/mixup.h"

#include <algorithm>
#include <set>

#include "datasets/loading/target_rows.h"
#include "tests/datasets/files.h"

namespace trainer {

TEST_CASE("shares of mixup follow a beta distribution, and partners come from all samples", "[mixup]") {
  const double alpha = GENERATE(0.05, 0.2, 1.0, 8.0);
  const Mixup mixup(alpha, 100, 3);
  std::set<std::int64_t> partners;
  double spread = 0;
  constexpr std::int64_t kDraws = 20000;
  for (std::int64_t draw = 0; draw < kDraws; ++draw) {
    const Mixup::Partner partner = mixup.partner(draw % 100, draw / 100);
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
  const Mixup one(1, 1000, 1), same(1, 1000, 1), other(1, 1000, 2);
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
  const Mixup mixup(1, 1024, 1);
  const std::vector<std::int64_t> samples = {7, 900, 7};
  const Data labels = opened("dataset: {synthetic: {shape: [4]}}\nmixup: 1");
  TargetRows rows;
  const Targets& mixed = rows.read(*labels.train, samples, labels.mixup, 4);
  const Data regression = opened("dataset: {synthetic: {shape: [4], target: [2]}}\nmixup: 1");
  TargetRows value_rows;
  const Targets& values = value_rows.read(*regression.train, samples, regression.mixup, 4);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const Mixup::Partner partner = mixup.partner(samples[row], 4);
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

}  // namespace trainer
