#pragma once

#include <span>

namespace trainer {

/// Sums over the whole global batch, whichever threads and ranks hold it. Collective over all threads: each
/// has a line as long as `total` for each of its virtual workers, and all get the sum of all lines.
class StatisticsReducer {
 public:
  virtual ~StatisticsReducer() = default;
  virtual void sum(int worker, std::span<const double> lines, std::span<double> total) = 0;
};

}  // namespace trainer
