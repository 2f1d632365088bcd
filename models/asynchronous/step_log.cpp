#include "models/asynchronous/step_log.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace trainer {

void StepLog::add(std::int64_t step, std::span<const double> notes) {
  const std::scoped_lock lock(mutex_);
  Step& entry = steps_[step];
  entry.sums.resize(sums_);
  std::ranges::transform(entry.sums, notes.first(sums_), entry.sums.begin(), std::plus<>());
  ++entry.units;
  staleness_.add(StalenessSum::of_notes(notes.subspan(sums_)));
}

std::optional<std::vector<double>> StepLog::take(std::int64_t step) {
  const std::scoped_lock lock(mutex_);
  const auto entry = steps_.find(step);
  if (entry == steps_.end() || entry->second.units < units_) return std::nullopt;
  std::vector<double> sums = std::move(entry->second.sums);
  steps_.erase(entry);
  return sums;
}

StalenessSum StepLog::take_staleness() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(staleness_, {});
}

}  // namespace trainer
