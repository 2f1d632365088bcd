#include "models/training/waiting.h"

#include <algorithm>
#include <numeric>

namespace trainer {

void Waiting::reach_consensus(Signals& mine) {
  mine_[1] = seconds();
  mine.arrivals = mine_;
  mine.sum_of_arrivals = std::accumulate(mine_.begin(), mine_.end(), 0.0);
}

void Waiting::take_from(const Signals& all, int ranks, StepTimes& times) {
  const auto span = [](double seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
  };
  double own = 0, latest = 0;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    own += all.arrivals[i] - mine_[i];
    latest += all.arrivals[i];
  }
  times.waiting += std::min(span(own), times.reduce + times.consensus);
  times.mean_waiting += span(latest - all.sum_of_arrivals / ranks);
  if (!one_host_) zero_ = Clock::now();
}

}  // namespace trainer
