#include "models/training/consensus.h"

#include <array>

namespace trainer {

Signals Consensus::reduce(const Signals& mine, std::span<const double> sums) {
  const std::array flags{mine.diverged, mine.stop, mine.save, mine.writing, mine.time_is_over};
  static_assert(std::ssize(flags) + 1 == kSignals);
  row_.assign(sums.begin(), sums.end());
  kinds_ = row_.size();
  for (const bool flag : flags) row_.push_back(flag ? 1 : 0);
  row_.push_back(mine.largest);
  scalars_.sum(row_, 1);
  const std::span<double> ranks = std::span(row_).subspan(kinds_, flags.size());
  model_.sum(ranks);
  return {.diverged = ranks[0] > 0,
          .stop = ranks[1] > 0,
          .save = ranks[2] > 0,
          .time_is_over = ranks[4] > 0,
          .writing = ranks[3] > 0,
          .largest = row_.back()};
}

}  // namespace trainer
