#include "models/network/pass.h"

#include <algorithm>
#include <array>

namespace trainer {

ConstTensor Pass::value(ParameterId id) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {values_ + parameter.offset, parameter.shape};
}

Tensor Pass::gradient(ParameterId id, const Block& block) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {block.gradients + parameter.offset, parameter.shape};
}

bool Pass::layer_sums(ParameterId id) const {
  const Parameter& parameter = plan_->parameter(id);
  // What several layers add to is summed once all have.
  return parameter.summed_by_layer && parameter.uses == 1 && blocks_.size() > 1;
}

void Pass::sum_over_blocks(ParameterId id, std::int64_t first, std::span<const float> of_blocks) {
  const auto count = std::ssize(of_blocks) / std::ssize(blocks_);
  const std::int64_t place = plan_->parameter(id).offset + first;
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    inputs_[block] = of_blocks.data() + static_cast<std::int64_t>(block) * count;
  std::array<float*, SumTree::kMostRoots> roots{};
  for (std::size_t root = 0; root < roots_.size(); ++root) roots[root] = roots_[root] + place;
  tree_.sum(inputs_, std::span(roots).first(roots_.size()), 0, count);
  if (kept_block_ < 0) return;
  const auto kept = static_cast<std::size_t>(kept_block_);
  std::copy_n(inputs_[kept], count, blocks_[kept].gradients + place);
}

void Pass::sum_gradients(std::int64_t first, std::int64_t last) {
  if (blocks_.size() < 2) return;
  for (std::size_t block = 0; block < blocks_.size(); ++block) inputs_[block] = blocks_[block].gradients;
  const std::vector<Parameter>& parameters = plan_->parameters();
  for (std::size_t index = parameters.size(); index-- > 0 && parameters[index].offset >= first;) {
    const Parameter& parameter = parameters[index];
    if (parameter.offset < last && !layer_sums({.index = static_cast<int>(index)}))
      tree_.sum(inputs_, roots_, parameter.offset, parameter.offset + parameter.shape.size());
  }
}

void Pass::ready_from(std::int64_t offset) {
  if (!sink_) return;
  const std::int64_t last = sink_->position(worker_);
  if (offset >= last) return;
  sum_gradients(offset, last);
  sink_->ready(worker_, offset);
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
