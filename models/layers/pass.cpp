#include "models/layers/pass.h"

namespace trainer {

std::int64_t Pass::length(std::int64_t row, std::int64_t whole) const {
  return lengths_.empty() ? whole : scaled_length(lengths_[static_cast<std::size_t>(row)], positions_, whole);
}

ConstTensor Pass::value(ParameterId id) const {
  const Parameter& parameter = plan_->parameter(id);
  return {values_ + (parameter.offset - first_float_), parameter.shape};
}

Tensor Pass::gradient(ParameterId id, const VirtualWorker& worker) const {
  const Parameter& parameter = plan_->parameter(id);
  return {worker.gradients + (parameter.offset - first_float_), parameter.shape};
}

void Pass::gradient_is_final(ParameterId id, std::int64_t first) {
  // Else virtual workers' gradients are added parameter by parameter, after the layer.
  if (virtual_workers_.size() == 1) ready_from(plan_->parameter(id).offset + first);
}

std::span<float> Pass::state(StateId id) const {
  const State& state = plan_->state(id);
  return {states_ + state.offset, static_cast<std::size_t>(state.shape.size())};
}

Tensor Pass::buffer(Buffer<> id) const {
  float* const data = place(id.offset, id.region);
  return id.per_row > 0 ? Tensor(data, {rows(), id.per_row}) : Tensor(data, {id.fixed});
}

}  // namespace trainer
