#include "models/training/waiting.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainer {
namespace {

/// The largest of these is that of the rank that waits least: whole microseconds, then the rank, negative.
constexpr double kRanks = 1 << 20, kLongest = 4e9;

double signal_of(double waiting, int rank) {
  return -(std::min(std::floor(waiting * 1e6), kLongest) * kRanks + rank);
}

int rank_of(double signal) { return static_cast<int>(std::fmod(-signal, kRanks)); }

}  // namespace

void Waiting::reach_consensus(Signals& mine) {
  mine_[1] = seconds();
  mine.arrivals = mine_;
  mine.sum_of_arrivals = std::accumulate(mine_.begin(), mine_.end(), 0.0);
  mine.statistics = statistics_;
  mine.least_statistics = -statistics_;
  mine.least_waiting = signal_of(std::max(0.0, recent_), rank_);
}

void Waiting::take_from(const Signals& all, int ranks, StepTimes& times) {
  const auto span = [](double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  };
  // What all ranks need for statistics is no waiting.
  double own = statistics_ + all.least_statistics, latest = all.statistics / ranks + all.least_statistics;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    own += all.arrivals[i] - mine_[i];
    latest += all.arrivals[i];
  }
  times.waiting += std::min(span(own), times.reduce + times.consensus);
  times.mean_waiting += span(latest - all.sum_of_arrivals / ranks);
  statistics_ = 0;
  constexpr double kSteps = 32;  // of the moving mean
  slowest_ = recent_ < 0 ? -1 : rank_of(all.least_waiting);
  own = std::max(own, 0.0);
  recent_ = recent_ < 0 ? own : recent_ + (own - recent_) / kSteps;
  if (!one_host_) zero_ = Clock::now();
}

}  // namespace trainer
