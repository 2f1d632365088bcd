#include "models/training/parameter_norms.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace trainer {

ParameterNorms::ParameterNorms(std::size_t parameters)
    : parameters_(parameters), largest_(2 * parameters), parts_(4 * parameters) {
  squares_.reserve(largest_.size());
}

void ParameterNorms::find(OptimizerShard& shard, AllReduce& scalars, Communicator& model) {
  const auto for_each = [&](const auto& visit) {
    shard.visit_counted([&](int parameter, std::span<const float> values, std::span<const float> directions) {
      visit(static_cast<std::size_t>(parameter), values);
      visit(parameters_ + static_cast<std::size_t>(parameter), directions);
    });
  };
  std::ranges::fill(largest_, 0.0);
  for_each([&](std::size_t index, std::span<const float> part) {
    largest_[index] = std::max<double>(largest_[index], largest_magnitude(std::ssize(part), part.data()));
  });
  scalars.sum(largest_, largest_.size());
  model.maximum(largest_);

  const auto is_finite = [&](std::size_t index) {
    return is_finite_magnitude(static_cast<std::uint32_t>(largest_[index]));
  };
  squares_.clear();
  for (std::size_t index = 0; index < largest_.size(); ++index)
    squares_.emplace_back(is_finite(index) ? static_cast<std::uint32_t>(largest_[index]) : 0);
  for_each([&](std::size_t index, std::span<const float> part) {
    if (is_finite(index)) squares_[index].add(std::ssize(part), part.data());
  });
  for (std::size_t index = 0; index < squares_.size(); ++index) {
    parts_[2 * index] = squares_[index].high();
    parts_[2 * index + 1] = squares_[index].low();
  }
  scalars.sum(parts_);
  model.sum(parts_);

  const auto norm = [&](std::size_t index) {
    return is_finite(index) ? squares_[index].root(parts_[2 * index], parts_[2 * index + 1])
                            : std::numeric_limits<double>::infinity();
  };
  shard.set_norms([&](int parameter) {
    const auto index = static_cast<std::size_t>(parameter);
    return std::pair(norm(index), norm(parameters_ + index));
  });
}

}  // namespace trainer
