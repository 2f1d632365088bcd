#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "datasets/loading/batch_order.h"

namespace trainer {

/// Proves that an epoch uses every sample once: all workers of all ranks add up a key of each sample that
/// they take, and the total must be that of all samples. Counts from begin() to the end of that epoch at
/// most.
class SampleLedger {
 public:
  explicit SampleLedger(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  /// `step`: steps done.
  void begin(std::int64_t step);
  /// Workers may call at once.
  void add(int worker, std::span<const std::int64_t> samples);
  /// all_reduce(totals) adds them over the ranks that take different samples. Throws a logic_error, the same
  /// on all ranks, when samples were left out or used twice up to `step`, where the epoch or the run ends.
  /// Collective.
  void verify(BatchOrder& order, std::int64_t step, const std::function<void(std::span<double>)>& all_reduce);

 private:
  /// Written by its own thread only.
  struct alignas(64) Worker {
    std::int64_t count = 0;
    std::uint64_t keys = 0;
  };

  std::vector<Worker> workers_;
  std::int64_t first_step_ = 0;
};

}  // namespace trainer
