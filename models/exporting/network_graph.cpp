#include "models/exporting/network_graph.h"

#include "models/exporting/merged_weights.h"
#include "models/graph/operations.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

Value scaled(Graph& graph, Value x, const std::vector<float>& scales, const std::vector<float>& shifts) {
  // One factor for each channel, aligned with x from the last extent on.
  Extents extents{std::ssize(scales)};
  if (graph.at(x).rank() == 4) extents.resize(3, 1);
  const Value scale = graph.constant("scale", extents, scales),
              shift = graph.constant("shift", extents, shifts);
  return binary(graph, "Add", binary(graph, "Mul", x, scale), shift);
}

}  // namespace

Graph network_graph(const Network& network, std::span<const float> values, std::span<const float> states,
                    const GraphEnds& ends) {
  Graph graph;
  const std::vector<Sequence::Entry>& layers = network.layers().entries();
  const bool takes_tokens = !layers.empty() && layers.front().type == "embedding";
  Value x = graph.add_input("input", batch_extents(network.input()),
                            takes_tokens ? ElementType::int64 : ElementType::float32);
  if (!ends.scale.empty()) x = scaled(graph, x, ends.scale, ends.shift);
  std::vector<float> merged;
  if (!network.plan().adapters().empty()) values = merged = merged_values(network.plan(), values);
  Tracer tracer(network.plan(), values, states, ends.has_padding, graph);
  Value y = network.layers().trace(x, tracer);
  graph.begin_layer("output");
  if (ends.is_one_answer && graph.at(y).rank() > 2) {
    if (graph.at(y).rank() == 4) y = transpose(graph, y, {0, 2, 3, 1});
    y = reshape(graph, y, {kBatch, element_count(graph.extents(y))});
  }
  const std::int64_t last = graph.at(y).rank() - 1;
  if (ends.link == Link::softmax) y = softmax_along(graph, y, last == 3 ? 1 : last);
  if (ends.link == Link::sigmoid) y = unary(graph, "Sigmoid", y);
  if (!ends.output_scale.empty()) y = scaled(graph, y, ends.output_scale, ends.output_shift);
  graph.set_output(y, "output");
  return graph;
}

}  // namespace trainer
