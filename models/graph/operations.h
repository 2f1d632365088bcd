#pragma once

#include "engine/math/types/activation.h"
#include "models/graph/graph.h"

namespace trainer {

/// The extents of a batch of samples of this shape in memory: a map (H, W, C) becomes (N, C, H, W).
Extents batch_extents(const Shape& sample);
/// Elements of one sample, or of a constant.
std::int64_t element_count(const Extents& extents);

// Each adds a node and returns its output.
Value unary(Graph& graph, std::string_view operation, Value x, Attributes attributes = {});
/// Of two tensors that are broadcast as NumPy's are.
Value binary(Graph& graph, std::string_view operation, Value a, Value b);
/// With a number for every element of x.
Value binary(Graph& graph, std::string_view operation, Value x, float number);
/// `extents` begin with kBatch.
Value reshape(Graph& graph, Value x, Extents extents);
/// Extent i of the output is extent order[i] of x.
Value transpose(Graph& graph, Value x, const std::vector<std::int64_t>& order);
/// Positions [begin, end) along an axis.
Value slice(Graph& graph, Value x, std::int64_t axis, std::int64_t begin, std::int64_t end);
Value concatenate(Graph& graph, const std::vector<Value>& parts, std::int64_t axis);
/// Of the last two extents.
Value matrix_product(Graph& graph, Value a, Value b);
Value mean(Graph& graph, Value x, std::vector<std::int64_t> axes);
Value softmax_along(Graph& graph, Value x, std::int64_t axis);
/// x as ids of tokens: of int64.
Value token_ids(Graph& graph, Value x);
Value activate(Graph& graph, Activation f, Value x);

/// A tensor of a batch with its last extent as the second one, as convolutions and norms of ONNX expect it,
/// and back. A map, and a vector, is as it is.
Value channels_second(Graph& graph, Value x);
Value channels_last(Graph& graph, Value x);

}  // namespace trainer
