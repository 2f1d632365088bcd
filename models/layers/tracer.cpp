#include "models/layers/tracer.h"

#include "models/formats/layout.h"

namespace trainer {
namespace {

Extents extents_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

std::span<const float> part(std::span<const float> all, std::int64_t offset, const Shape& shape) {
  return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(shape.size()));
}

}  // namespace

void Tracer::require_no_padding() const {
  if (!has_padding_) return;
  throw Error(ExitCode::usage,
              "the layer " + graph.layer() +
                  " cannot be exported as operations: its data has sequences of "
                  "several lengths, and what it computes depends on where a sequence ends",
              "npz holds the weights of any model");
}

std::vector<float> Tracer::values(ParameterId id) const {
  const Parameter& parameter = plan_.parameter(id);
  return to_file_layout(parameter.layout, parameter.shape, part(values_, parameter.offset, parameter.shape));
}

Value Tracer::parameter(ParameterId id) const {
  const Parameter& parameter = plan_.parameter(id);
  return this->parameter(id, extents_of(file_shape(parameter.layout, parameter.shape)));
}

Value Tracer::parameter(ParameterId id, Extents extents) const {
  return graph.named_constant(plan_.parameter(id).name, std::move(extents), values(id));
}

Value Tracer::state(StateId id) const {
  const State& state = plan_.state(id);
  const std::span<const float> values = part(states_, state.offset, state.shape);
  return graph.named_constant(state.name, extents_of(state.shape), {values.begin(), values.end()});
}

}  // namespace trainer
