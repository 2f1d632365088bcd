#include "models/training/shard_norms.h"

#include <algorithm>
#include <limits>

#include "engine/parallel/communicator.h"

namespace trainer {

ShardNorms::ShardNorms(std::size_t arrays) : largest_(arrays), parts_(2 * arrays) {
  squares_.reserve(arrays);
}

bool ShardNorms::is_finite(std::size_t array) const {
  return is_finite_magnitude(static_cast<std::uint32_t>(largest_[array]));
}

void ShardNorms::begin() { std::ranges::fill(largest_, 0.0); }

void ShardNorms::measure(std::size_t array, std::span<const float> part) {
  largest_[array] = std::max<double>(largest_[array], largest_magnitude(std::ssize(part), part.data()));
}

void ShardNorms::share_largest(AllReduce& scalars, Communicator& model) {
  scalars.sum(largest_, largest_.size());
  model.maximum(largest_);
  squares_.clear();
  for (std::size_t array = 0; array < largest_.size(); ++array)
    squares_.emplace_back(is_finite(array) ? static_cast<std::uint32_t>(largest_[array]) : 0);
}

void ShardNorms::add(std::size_t array, std::span<const float> part) {
  if (is_finite(array)) squares_[array].add(std::ssize(part), part.data());
}

std::span<const double> ShardNorms::sum(AllReduce& scalars, Communicator& model) {
  for (std::size_t array = 0; array < squares_.size(); ++array) {
    parts_[2 * array] = squares_[array].high();
    parts_[2 * array + 1] = squares_[array].low();
  }
  scalars.sum(parts_);
  model.sum(parts_);
  for (std::size_t array = 0; array < squares_.size(); ++array)
    largest_[array] = is_finite(array) ? squares_[array].root(parts_[2 * array], parts_[2 * array + 1])
                                       : std::numeric_limits<double>::infinity();
  return largest_;
}

}  // namespace trainer
