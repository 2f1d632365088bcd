#include "datasets/loading/batch_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "engine/core/error.h"

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

TEST_CASE("dropping the only batch is the user's mistake", "[batch_order]") {
  try {
    BatchOrder order({.samples = 5, .batch = 8, .drop_last = true});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
  }
}

}  // namespace trainer
