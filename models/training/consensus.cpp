#include "models/training/consensus.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace trainer {

Signals Consensus::reduce(const Signals& mine, std::span<const double> sums) {
  const std::array flags{mine.diverged, mine.stop, mine.save, mine.writing, mine.time_is_over};
  constexpr std::int64_t kMaxima = 3 + std::tuple_size_v<Arrivals>;
  constexpr std::int64_t kSums = 2;
  static_assert(std::ssize(flags) + kSums + kMaxima == kSignals);
  row_.assign(sums.begin(), sums.end());
  kinds_ = row_.size();
  for (const bool flag : flags) row_.push_back(flag ? 1 : 0);
  row_.push_back(mine.sum_of_arrivals);
  row_.push_back(mine.statistics);
  row_.push_back(mine.largest);
  row_.push_back(mine.least_waiting);
  row_.push_back(mine.least_statistics);
  row_.insert(row_.end(), mine.arrivals.begin(), mine.arrivals.end());
  scalars_.sum(row_, kMaxima);
  const std::span<double> ranks = std::span(row_).subspan(kinds_, flags.size());
  model_.sum(ranks);
  const std::span<double> maxima = std::span(row_).last(kMaxima);
  Signals all{.diverged = ranks[0] > 0,
              .stop = ranks[1] > 0,
              .save = ranks[2] > 0,
              .time_is_over = ranks[4] > 0,
              .writing = ranks[3] > 0,
              .largest = maxima.front(),
              .sum_of_arrivals = row_[row_.size() - kMaxima - 2],
              .statistics = row_[row_.size() - kMaxima - 1],
              .least_statistics = maxima[2],
              .least_waiting = maxima[1]};
  std::ranges::copy(maxima.subspan(3), all.arrivals.begin());
  return all;
}

}  // namespace trainer
