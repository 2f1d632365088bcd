#include "models/graph/operations.h"

#include <algorithm>
#include <numbers>
#include <numeric>

namespace trainer {
namespace {

/// NumPy's rule: extents are aligned at the last one, and an extent of 1 is repeated.
Extents broadcast(const Extents& a, const Extents& b) {
  const Extents& longer = a.size() >= b.size() ? a : b;
  const Extents& shorter = a.size() >= b.size() ? b : a;
  Extents result = longer;
  const std::size_t skipped = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    if (result[skipped + i] == 1) result[skipped + i] = shorter[i];
  return result;
}

Value gelu(Graph& graph, Value x) {
  const Value share =
      binary(graph, "Add", unary(graph, "Erf", binary(graph, "Div", x, std::numbers::sqrt2_v<float>)), 1);
  return binary(graph, "Mul", binary(graph, "Mul", x, share), 0.5f);
}

Value gelu_tanh(Graph& graph, Value x) {
  const Value cube = binary(graph, "Mul", binary(graph, "Mul", binary(graph, "Mul", x, x), x), 0.044715f);
  const Value angle = binary(graph, "Mul", binary(graph, "Add", x, cube),
                             std::numbers::sqrt2_v<float> * std::numbers::inv_sqrtpi_v<float>);
  const Value share = binary(graph, "Add", unary(graph, "Tanh", angle), 1);
  return binary(graph, "Mul", binary(graph, "Mul", x, share), 0.5f);
}

/// A vector, or a map, which is (channels, height, width) in a graph.
bool has_channels_second(const Graph& graph, Value x) {
  return graph.extents(x).size() == 2 || graph.extents(x).size() == 4;
}

/// 6 min(max(x / 6, 0), 1): OpenCV before 4.7 does not read Clip (opencv/opencv#22100).
Value relu6(Graph& graph, Value x) {
  return binary(graph, "Mul", unary(graph, "HardSigmoid", x, {{"alpha", 1 / 6.0f}, {"beta", 0.0f}}), 6);
}

}  // namespace

Extents batch_extents(const Shape& sample) {
  if (sample.rank() == 3) return {kBatch, sample[2], sample[0], sample[1]};
  Extents extents{kBatch};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  return extents;
}

std::int64_t element_count(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1},
                         [](std::int64_t product, std::int64_t extent) {
                           return extent == kBatch ? product : product * extent;
                         });
}

Value unary(Graph& graph, std::string_view operation, Value x, Attributes attributes) {
  return graph.add(operation, {x}, graph.extents(x), std::move(attributes));
}

Value binary(Graph& graph, std::string_view operation, Value a, Value b) {
  return graph.add(operation, {a, b}, broadcast(graph.extents(a), graph.extents(b)));
}

Value binary(Graph& graph, std::string_view operation, Value x, float number) {
  return binary(graph, operation, x, graph.constant("number", {}, {number}));
}

Value reshape(Graph& graph, Value x, Extents extents) {
  const Value shape = graph.integers("shape", extents);
  return graph.add("Reshape", {x, shape}, std::move(extents));
}

Value transpose(Graph& graph, Value x, const std::vector<std::int64_t>& order) {
  Extents extents;
  for (const std::int64_t axis : order) extents.push_back(graph.extents(x)[static_cast<std::size_t>(axis)]);
  return graph.add("Transpose", {x}, extents, {{"perm", order}});
}

Value slice(Graph& graph, Value x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  Extents extents = graph.extents(x);
  extents[static_cast<std::size_t>(axis)] = end - begin;
  const Value from = graph.integers("begin", {begin}), to = graph.integers("end", {end}),
              along = graph.integers("axis", {axis});
  return graph.add("Slice", {x, from, to, along}, extents);
}

Value concatenate(Graph& graph, const std::vector<Value>& parts, std::int64_t axis) {
  Extents extents = graph.extents(parts.front());
  const auto at = static_cast<std::size_t>(axis);
  extents[at] = 0;
  for (const Value part : parts) extents[at] += graph.extents(part)[at];
  return graph.add("Concat", parts, extents, {{"axis", axis}});
}

Value matrix_product(Graph& graph, Value a, Value b) {
  const Extents &left = graph.extents(a), &right = graph.extents(b);
  Extents extents = broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  extents.push_back(left[left.size() - 2]);
  extents.push_back(right.back());
  return graph.add("MatMul", {a, b}, extents);
}

Value mean(Graph& graph, Value x, std::vector<std::int64_t> axes) {
  Extents extents = graph.extents(x);
  for (const std::int64_t axis : axes) extents[static_cast<std::size_t>(axis)] = 1;
  return graph.add("ReduceMean", {x}, extents, {{"axes", std::move(axes)}, {"keepdims", std::int64_t{1}}});
}

Value softmax_along(Graph& graph, Value x, std::int64_t axis) {
  return unary(graph, "Softmax", x, {{"axis", axis}});
}

Value token_ids(Graph& graph, Value x) {
  if (graph.at(x).type == ElementType::int64) return x;
  constexpr std::int64_t kInt64 = 7;  // of TensorProto::DataType
  const Value ids = unary(graph, "Cast", x, {{"to", kInt64}});
  graph.at(ids).type = ElementType::int64;
  return ids;
}

Value activate(Graph& graph, Activation f, Value x) {
  switch (f) {
    case Activation::none:
      return x;
    case Activation::relu:
      return unary(graph, "Relu", x);
    case Activation::relu6:
      return relu6(graph, x);
    case Activation::sigmoid:
      return unary(graph, "Sigmoid", x);
    case Activation::tanh:
      return unary(graph, "Tanh", x);
    case Activation::gelu:
      return gelu(graph, x);
    case Activation::gelu_tanh:
      return gelu_tanh(graph, x);
    case Activation::silu:
      return binary(graph, "Mul", x, unary(graph, "Sigmoid", x));
    case Activation::hardswish:
      return binary(graph, "Mul", x, unary(graph, "HardSigmoid", x, {{"alpha", 1.0f / 6}, {"beta", 0.5f}}));
    case Activation::softplus:
      return unary(graph, "Softplus", x);
    case Activation::elu:
      return unary(graph, "Elu", x, {{"alpha", 1.0f}});
  }
  return x;
}

Value channels_second(Graph& graph, Value x) {
  if (has_channels_second(graph, x)) return x;
  std::vector<std::int64_t> order(graph.extents(x).size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return transpose(graph, x, order);
}

Value channels_last(Graph& graph, Value x) {
  if (has_channels_second(graph, x)) return x;
  std::vector<std::int64_t> order(graph.extents(x).size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return transpose(graph, x, order);
}

}  // namespace trainer
