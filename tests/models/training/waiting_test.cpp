#include "models/training/waiting.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace trainer {
namespace {

/// Ranks of one host whose data rank `slow` arrives last, after the others have arrived.
class WaitingRanks {
 public:
  explicit WaitingRanks(int count) {
    for (int rank = 0; rank < count; ++rank) ranks_.emplace_back(true, rank);
  }

  /// `statistics`: by rank, in milliseconds. The times of rank 0.
  StepTimes step(std::size_t slow, std::vector<int> statistics = {0, 0, 0}) {
    std::vector<Signals> signals(ranks_.size());
    const auto arrive = [&](std::size_t rank) {
      ranks_[rank].reach_reduce(std::chrono::milliseconds(statistics[rank]));
      ranks_[rank].reach_consensus(signals[rank]);
    };
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (rank != slow) arrive(rank);
    if (statistics.front() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    arrive(slow);
    Signals all = signals.front();
    for (const Signals& other : signals) {
      for (std::size_t i = 0; i < all.arrivals.size(); ++i)
        all.arrivals[i] = std::max(all.arrivals[i], other.arrivals[i]);
      all.least_waiting = std::max(all.least_waiting, other.least_waiting);
      all.least_statistics = std::max(all.least_statistics, other.least_statistics);
      if (&other == &signals.front()) continue;
      all.statistics += other.statistics;
      all.sum_of_arrivals += other.sum_of_arrivals;
    }
    std::vector<StepTimes> times(ranks_.size(), {.reduce = std::chrono::hours(1)});
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      ranks_[rank].take_from(all, static_cast<int>(ranks_.size()), times[rank]);
    return times.front();
  }

  std::vector<int> slowest() const {
    std::vector<int> named;
    for (const Waiting& rank : ranks_) named.push_back(rank.slowest());
    return named;
  }

 private:
  std::vector<Waiting> ranks_;
};

}  // namespace

TEST_CASE("after two steps all ranks know which of them the others wait for, and after one no rank does",
          "[training]") {
  const int slow = GENERATE(0, 1, 2);
  WaitingRanks ranks(3);
  ranks.step(static_cast<std::size_t>(slow));
  CHECK(ranks.slowest() == std::vector{-1, -1, -1});
  ranks.step(static_cast<std::size_t>(slow));
  CHECK(ranks.slowest() == std::vector{slow, slow, slow});
}

TEST_CASE("one late step does not make a rank the slowest", "[training]") {
  WaitingRanks ranks(2);
  for (int step = 0; step < 6; ++step) ranks.step(1);
  ranks.step(0);
  ranks.step(1);
  CHECK(ranks.slowest() == std::vector{1, 1});
}

TEST_CASE("a rank whose sums of statistics take least is the slowest; what they take on all is no waiting",
          "[training]") {
  WaitingRanks ranks(3);
  for (int step = 0; step < 2; ++step) {
    const StepTimes times = ranks.step(2, {5000, 1000, 9000});
    CHECK(times.waiting > std::chrono::milliseconds(3900));
    CHECK(times.mean_waiting > std::chrono::milliseconds(3900));
    CHECK(times.waiting < std::chrono::milliseconds(4900));
    CHECK(times.mean_waiting < std::chrono::milliseconds(4900));
  }
  CHECK(ranks.slowest() == std::vector{1, 1, 1});
}

}  // namespace trainer
