#include "engine/parallel/staleness_bound.h"

#include <algorithm>
#include <stdexcept>

namespace trainer {

std::int64_t StalenessBound::under_way() const {
  return std::ranges::count_if(read_at_, [](const auto& version) { return version.has_value(); });
}

void StalenessBound::read(int worker) {
  if (!may_read()) throw std::logic_error("a worker reads that has to wait");
  read_at_[index(worker)] = version_;
}

bool StalenessBound::may_update(int worker) const {
  std::vector<std::int64_t> others;
  for (std::size_t other = 0; other < read_at_.size(); ++other)
    if (other != index(worker) && read_at_[other]) others.push_back(*read_at_[other]);
  std::ranges::sort(others);
  // After this update the i-th of them can be the i-th one from there, at the earliest.
  for (std::size_t i = 0; i < others.size(); ++i)
    if (version_ + 1 + static_cast<std::int64_t>(i) - others[i] > bound_) return false;
  return true;
}

std::int64_t StalenessBound::update(int worker) {
  std::optional<std::int64_t>& read = read_at_[index(worker)];
  const std::int64_t staleness = version_ - read.value();
  if (staleness > bound_) throw std::logic_error("a gradient is staler than its bound");
  read.reset();
  ++version_;
  return staleness;
}

}  // namespace trainer
