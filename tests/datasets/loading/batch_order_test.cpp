#include "datasets/loading/batch_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "datasets/subset.h"
#include "engine/core/error.h"
#include "tests/support/noise_dataset.h"

namespace trainer {
namespace {

std::vector<std::int64_t> epoch_of(BatchOrder& order, std::int64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t step = 0; step < order.steps_per_epoch(); ++step) {
    const auto batch = order.batch(epoch * order.steps_per_epoch() + step);
    samples.insert(samples.end(), batch.begin(), batch.end());
  }
  return samples;
}

std::vector<std::int64_t> counting(std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

TEST_CASE("an epoch has every sample exactly once, whatever the batch", "[batch_order]") {
  const std::int64_t batch = GENERATE(1, 7, 100, 1000, 5000);
  const bool shuffle = GENERATE(false, true);
  BatchOrder order({.samples = 1007, .batch = batch, .shuffle = shuffle});
  for (const std::int64_t epoch : {0, 1, 5}) {
    auto samples = epoch_of(order, epoch);
    if (shuffle) CHECK(samples != counting(1007));
    std::sort(samples.begin(), samples.end());
    CHECK(samples == counting(1007));
  }
}

TEST_CASE("rows of streams continue from batch to batch, and what fills no batch is dropped",
          "[batch_order]") {
  BatchOrder order({.samples = 11, .batch = 3, .streams = true});
  CHECK(order.steps_per_epoch() == 3);
  CHECK(epoch_of(order, 0) == std::vector<std::int64_t>{0, 3, 6, 1, 4, 7, 2, 5, 8});
  CHECK(epoch_of(order, 4) == epoch_of(order, 0));
  const auto all = order.epoch(0);
  CHECK(std::vector<std::int64_t>(all.begin() + 9, all.end()) == std::vector<std::int64_t>{9, 10});
}

TEST_CASE("the order depends on seed and epoch alone, not on the steps asked for before", "[batch_order]") {
  BatchOrder order({.samples = 50, .batch = 8, .seed = 3});
  const auto first = epoch_of(order, 0), second = epoch_of(order, 1);
  CHECK(first != second);
  CHECK(epoch_of(order, 0) == first);
  BatchOrder again({.samples = 50, .batch = 10, .seed = 3});
  CHECK(epoch_of(again, 1) == second);
  BatchOrder other({.samples = 50, .batch = 8, .seed = 4});
  CHECK(epoch_of(other, 0) != first);
}

TEST_CASE("without shuffle samples come in the order of the file", "[batch_order]") {
  BatchOrder order({.samples = 10, .batch = 4, .shuffle = false});
  CHECK(epoch_of(order, 0) == counting(10));
  CHECK(epoch_of(order, 3) == counting(10));
}

TEST_CASE("the last batch is short, or dropped", "[batch_order]") {
  BatchOrder whole({.samples = 107, .batch = 25});
  CHECK(whole.steps_per_epoch() == 5);
  CHECK(whole.batch(4).size() == 7);
  CHECK(whole.batch(5).size() == 25);
  BatchOrder dropped({.samples = 107, .batch = 25, .drop_last = true});
  CHECK(dropped.steps_per_epoch() == 4);
  CHECK(dropped.batch(4).size() == 25);
  CHECK(dropped.batch(7).size() == 25);
  BatchOrder fits({.samples = 100, .batch = 25});
  CHECK(fits.steps_per_epoch() == 4);
}

TEST_CASE("a balanced epoch draws classes equally often, and a class's samples equally often",
          "[batch_order]") {
  // 90 samples of class 0, 9 of class 1, 4 of class 3, none of class 2.
  const NoiseDataset noise(2000, {2}, 4, 1);
  std::vector<std::int64_t> chosen;
  const std::vector<std::size_t> sizes{90, 9, 0, 4};
  std::vector<std::size_t> taken(4);
  for (std::int64_t i = 0; i < noise.size(); ++i)
    if (const std::int32_t label = noise.label(i); taken[label] < sizes[label]) {
      ++taken[label];
      chosen.push_back(i);
    }
  REQUIRE(taken == sizes);
  const Subset samples(noise, chosen);
  BatchOrder order({.samples = 103, .batch = 10, .balanced = &samples, .seed = 3});
  CHECK(order.steps_per_epoch() == 11);
  CHECK(!order.has_each_sample_once());
  const auto first = epoch_of(order, 0), second = epoch_of(order, 1);
  CHECK(first != second);
  CHECK(epoch_of(order, 0) == first);
  for (const auto& epoch : {first, second}) {
    REQUIRE(epoch.size() == 103);
    std::vector<std::int64_t> drawn(4), of_sample(103);
    for (const std::int64_t sample : epoch) {
      ++drawn[samples.label(sample)];
      ++of_sample[sample];
    }
    for (const int label : {0, 1, 3}) CHECK((drawn[label] == 34 || drawn[label] == 35));
    for (std::int64_t sample = 0; sample < 103; ++sample) {
      const std::int64_t label = samples.label(sample);
      CHECK(of_sample[sample] <= (drawn[label] - 1) / static_cast<std::int64_t>(sizes[label]) + 1);
      CHECK(of_sample[sample] >= drawn[label] / static_cast<std::int64_t>(sizes[label]));
    }
  }
}

TEST_CASE("dropping the only batch is the user's mistake", "[batch_order]") {
  try {
    BatchOrder order({.samples = 5, .batch = 8, .drop_last = true});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
  }
}

}  // namespace trainer
