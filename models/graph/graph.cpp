#include "models/graph/graph.h"

#include <algorithm>

namespace trainer {

std::string Graph::unique(const std::string& name) {
  const int uses = ++names_[name];
  return uses == 1 ? name : unique(name + "_" + std::to_string(uses));
}

Value Graph::add_tensor(GraphTensor tensor) {
  tensors.push_back(std::move(tensor));
  return {static_cast<int>(tensors.size()) - 1};
}

Value Graph::add_input(const std::string& name, Extents extents, ElementType type) {
  return input = add_tensor({.name = unique(name), .extents = std::move(extents), .type = type});
}

void Graph::set_output(Value value, const std::string& name) {
  // The name of an input or of a constant stays.
  const bool is_computed =
      std::ranges::any_of(nodes, [&](const GraphNode& node) { return node.output.index == value.index; });
  output = is_computed ? value : add("Identity", {value}, extents(value));
  at(output).name = unique(name);
}

Value Graph::named_constant(const std::string& name, Extents extents, std::vector<float> values) {
  const auto found = std::ranges::find_if(
      tensors, [&](const GraphTensor& tensor) { return tensor.is_constant && tensor.name == name; });
  if (found != tensors.end()) return {static_cast<int>(found - tensors.begin())};
  return add_tensor({.name = unique(name),
                     .extents = std::move(extents),
                     .is_constant = true,
                     .values = std::move(values)});
}

Value Graph::constant(std::string_view name, Extents extents, std::vector<float> values) {
  return add_tensor({.name = unique(layer_ + "/" + std::string(name)),
                     .extents = std::move(extents),
                     .is_constant = true,
                     .values = std::move(values)});
}

Value Graph::integers(std::string_view name, std::vector<std::int64_t> values) {
  const std::int64_t count = std::ssize(values);
  return add_tensor({.name = unique(layer_ + "/" + std::string(name)),
                     .extents = {count},
                     .type = ElementType::int64,
                     .is_constant = true,
                     .integers = std::move(values)});
}

Value Graph::add(std::string_view operation, std::vector<Value> inputs, Extents extents,
                 Attributes attributes) {
  const std::string name = unique(layer_ + "/" + std::string(operation));
  const Value y = add_tensor({.name = name, .extents = std::move(extents)});
  nodes.push_back({.name = name,
                   .layer = layer_,
                   .operation = std::string(operation),
                   .inputs = std::move(inputs),
                   .output = y,
                   .attributes = std::move(attributes)});
  return y;
}

}  // namespace trainer
