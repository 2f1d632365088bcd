#include "models/guards/sample_ledger.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

void alone(std::span<double>) {}

/// A ledger of two workers who take these steps, each half of every batch.
SampleLedger ledger_of(BatchOrder& order, std::int64_t first, std::int64_t last) {
  SampleLedger ledger(2);
  ledger.begin(first);
  for (std::int64_t step = first; step < last; ++step) {
    const auto samples = order.batch(step);
    ledger.add(0, samples.first(samples.size() / 2));
    ledger.add(1, samples.subspan(samples.size() / 2));
  }
  return ledger;
}

}  // namespace

TEST_CASE("an epoch that uses every sample once is fine, wherever it begins and ends", "[training]") {
  const bool shuffle = GENERATE(true, false), drop_last = GENERATE(true, false);
  BatchOrder order({.samples = 47, .batch = 10, .shuffle = shuffle, .drop_last = drop_last});
  const std::int64_t steps = order.steps_per_epoch();
  for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, steps},
                                    {2, steps},
                                    {0, 2},
                                    {steps, 2 * steps},
                                    {steps + 1, steps + 3}}) {
    CAPTURE(shuffle, drop_last, first, last);
    CHECK_NOTHROW(ledger_of(order, first, last).verify(order, last, alone));
  }
}

TEST_CASE("a sample that is missing, comes twice or in place of another is noticed", "[training]") {
  BatchOrder order({.samples = 40, .batch = 10});
  const std::vector<std::int64_t> all(order.epoch(0).begin(), order.epoch(0).end());
  const auto verify = [&](const std::vector<std::int64_t>& taken) {
    SampleLedger ledger(1);
    ledger.begin(0);
    ledger.add(0, taken);
    ledger.verify(order, 4, alone);
  };
  CHECK_NOTHROW(verify(all));
  for (std::size_t place : {0u, 20u, 39u}) {
    std::vector<std::int64_t> taken = all;
    taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(place));
    CHECK_THROWS_WITH(
        verify(taken),
        "epoch 1 did not use the samples of its order: 39 samples were taken where 40 were due");
    taken.insert(taken.end(), 2, all[place]);
    CHECK_THROWS_AS(verify(taken), std::logic_error);
    taken = all;
    taken[place] = all[(place + 7) % 40];
    CHECK_THROWS_WITH(verify(taken),
                      "epoch 1 did not use the samples of its order: 40 samples were taken where 40 "
                      "were due, and not those");
  }
}

TEST_CASE("the ledgers of several ranks are added exactly", "[training]") {
  BatchOrder order({.samples = 1000, .batch = 100});
  SampleLedger mine = ledger_of(order, 0, 10), other(1);
  // The other rank's part arrives through preflight_check().
  std::vector<double> totals_of_other;
  mine.begin(0);
  other.begin(0);
  mine.add(0, order.epoch(0).first(600));
  other.add(0, order.epoch(0).subspan(600));
  try {
    other.verify(order, 10,
                 [&](std::span<double> totals) { totals_of_other.assign(totals.begin(), totals.end()); });
  } catch (const std::logic_error&) {
  }
  CHECK_NOTHROW(mine.verify(order, 10, [&](std::span<double> totals) {
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += totals_of_other[i];
  }));
}

}  // namespace trainer
