#include "models/training/area_under_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace trainer {
namespace {

/// Returns how many NaNs were removed.
std::int64_t remove_nans(std::vector<float>& scores) {
  return static_cast<std::int64_t>(std::erase_if(scores, [](float score) { return std::isnan(score); }));
}

/// The number of pairs own > other, times 2, plus the number of equal pairs; both lists ascend.
std::int64_t doubled_pairs(const std::vector<float>& own, const std::vector<float>& others) {
  std::int64_t pairs = 0;
  std::size_t below = 0, not_above = 0;
  for (const float score : own) {
    while (below < others.size() && others[below] < score) ++below;
    while (not_above < others.size() && others[not_above] <= score) ++not_above;
    pairs += static_cast<std::int64_t>(below + not_above);
  }
  return pairs;
}

}  // namespace

double area_under_curve(ClassScores mine, Communicator& ranks) {
  const std::int64_t nans = remove_nans(mine.own) + remove_nans(mine.others);
  std::ranges::sort(mine.own);
  std::ranges::sort(mine.others);
  std::int64_t pairs = 0;
  std::vector<float> others;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    std::int64_t count = std::ssize(mine.others);
    ranks.broadcast(std::as_writable_bytes(std::span(&count, 1)), rank);
    if (rank == ranks.rank())
      others = mine.others;
    else
      others.resize(static_cast<std::size_t>(count));
    ranks.broadcast(std::as_writable_bytes(std::span(others)), rank);
    pairs += doubled_pairs(mine.own, others);
  }
  std::array<std::int64_t, 4> totals{pairs, std::ssize(mine.own), std::ssize(mine.others), nans};
  ranks.sum(totals);
  if (totals[3] > 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(totals[0]) /
         (2 * static_cast<double>(totals[1]) * static_cast<double>(totals[2]));
}

}  // namespace trainer
