#include "models/exporting/merged_weights.h"

#include <algorithm>
#include <stdexcept>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"

namespace trainer {
namespace {

/// scale x B, so that the sums have the same bits in both layouts.
std::vector<float> scaled_copy(std::span<const float> up, float factor) {
  std::vector<float> result(up.size());
  scale(std::ssize(up), factor, up.data(), result.data());
  return result;
}

/// w (rows, columns) + left (rows, rank) x right (rank, columns)
void add_product(const Shape& shape, std::int64_t rank, const float* left, const float* right, float* w) {
  gemm(Transpose::no, Transpose::no, shape[0], shape[1], rank, left, rank, right, shape[1], 1, w, shape[1]);
}

}  // namespace

std::vector<float> merged_values(const NetworkPlan& plan, std::span<const float> values) {
  std::vector<float> merged(values.begin(), values.end());
  const auto at = [&](ParameterId id) {
    const Parameter& parameter = plan.parameter(id);
    return std::span(merged).subspan(static_cast<std::size_t>(parameter.offset),
                                     static_cast<std::size_t>(parameter.shape.size()));
  };
  for (const Adapter& adapter : plan.adapters())
    add_product(plan.parameter(adapter.weight).shape, plan.parameter(adapter.down).shape[1],
                at(adapter.down).data(), scaled_copy(at(adapter.up), adapter.scale).data(),
                at(adapter.weight).data());
  return merged;
}

std::vector<NamedTensor> merged_tensors(const NetworkPlan& plan, std::vector<NamedTensor> tensors) {
  const auto find = [&](ParameterId id) {
    const auto found = std::ranges::find(tensors, plan.parameter(id).name, &NamedTensor::name);
    if (found == tensors.end()) throw std::logic_error("a checkpoint without " + plan.parameter(id).name);
    return found;
  };
  // Files have (outputs, inputs) of all three.
  for (const Adapter& adapter : plan.adapters()) {
    NamedTensor& weight = *find(adapter.weight);
    const NamedTensor &down = *find(adapter.down), &up = *find(adapter.up);
    add_product(weight.shape, down.shape[0], scaled_copy(up.values, adapter.scale).data(), down.values.data(),
                weight.values.data());
    for (const ParameterId id : {adapter.down, adapter.up}) tensors.erase(find(id));
  }
  return tensors;
}

}  // namespace trainer
