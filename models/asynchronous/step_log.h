#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "models/training/observer.h"

namespace trainer {

/// The steps of an asynchronous run on world rank 0, where units of different steps end in any order: the
/// sums of a step are complete when all of its units are. One thread adds, another one takes.
class StepLog {
 public:
  /// `units` of a step; `sums` doubles of each.
  StepLog(int units, std::size_t sums) : units_(units), sums_(sums) {}

  /// What a worker reports of a unit: its sums, then a StalenessSum of gradients that it has not reported.
  void add(std::int64_t step, std::span<const double> notes);
  /// The sums of this step once it is complete; they are gone then.
  std::optional<std::vector<double>> take(std::int64_t step);
  /// Of the gradients that were reported since the last call.
  StalenessSum take_staleness();

 private:
  struct Step {
    int units = 0;
    std::vector<double> sums;
  };
  int units_;
  std::size_t sums_;
  std::mutex mutex_;
  std::map<std::int64_t, Step> steps_;
  StalenessSum staleness_;
};

}  // namespace trainer
