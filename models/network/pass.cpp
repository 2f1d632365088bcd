#include "models/network/pass.h"

namespace trainer {

ConstTensor Pass::value(ParameterId id) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {values_ + parameter.offset, parameter.shape};
}

Tensor Pass::gradient(ParameterId id, const Block& block) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(id.index)];
  return {block.gradients + parameter.offset, parameter.shape};
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
