#include "models/network/pass.h"

#include <array>
#include <utility>

namespace trainer {

ConstTensor Pass::value(ParameterId id) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {values_ + parameter.offset, parameter.shape};
}

Tensor Pass::gradient(ParameterId id, const Block& block) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {block.gradients + parameter.offset, parameter.shape};
}

bool Pass::sums_blocks(ParameterId id) const {
  const Parameter& parameter = plan_->parameter(id);
  // What several layers add to is summed once all have.
  return parameter.sums_blocks && parameter.uses == 1 && blocks_.size() > 1 && !keeps_blocks_;
}

void Pass::sum_blocks(ParameterId id, std::int64_t first, std::span<const float> parts) {
  const auto count = std::ssize(parts) / std::ssize(blocks_);
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    inputs_[block] = parts.data() + static_cast<std::int64_t>(block) * count;
  std::array<float*, SumTree::kMostRoots> roots{};
  for (std::size_t root = 0; root < roots_.size(); ++root)
    roots[root] = roots_[root] + plan_->parameter(id).offset + first;
  tree_.sum(inputs_, std::span(roots).first(roots_.size()), 0, count);
}

void Pass::sum_gradients(std::int64_t first, std::int64_t last) {
  if (blocks_.size() < 2) return;
  for (std::size_t block = 0; block < blocks_.size(); ++block) inputs_[block] = blocks_[block].gradients;
  const std::vector<Parameter>& parameters = plan_->parameters();
  for (std::size_t index = parameters.size(); index-- > 0 && parameters[index].offset >= first;) {
    const Parameter& parameter = parameters[index];
    if (parameter.offset < last && !sums_blocks({.index = static_cast<int>(index)}))
      tree_.sum(inputs_, roots_, parameter.offset, parameter.offset + parameter.shape.size());
  }
}

void Pass::ready_from(std::int64_t offset) {
  if (offset < summed_from_) sum_gradients(offset, std::exchange(summed_from_, offset));
  if (on_ready_) on_ready_(offset);
}

std::span<float> Pass::state(StateId id) const {
  const State& state = plan_->states()[static_cast<std::size_t>(id.index)];
  return {states_ + state.offset, static_cast<std::size_t>(state.shape.size())};
}

Tensor Pass::buffer(BufferId id) const {
  float* data = memory_ + (id.is_scratch ? plan_->saved_end() : 0) + id.offset;
  return id.per_row > 0 ? Tensor(data, {rows(), id.per_row}) : Tensor(data, {id.fixed});
}

}  // namespace trainer
