#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/shape.h"

namespace trainer {

/// Extents of a tensor of a graph, outermost first; kBatch stands for the batch.
using Extents = std::vector<std::int64_t>;
inline constexpr std::int64_t kBatch = -1;

enum class ElementType { float32, int64 };

/// A tensor of a graph, as an index in Graph::tensors.
struct Value {
  int index = -1;
};
/// An optional input that is left out.
inline constexpr Value kNoValue{};

/// A setting of an operator.
using Attribute =
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

struct GraphTensor {
  std::string name;
  Extents extents;
  ElementType type = ElementType::float32;
  bool is_constant = false;
  std::vector<float> values = {};           ///< of a constant of float32
  std::vector<std::int64_t> integers = {};  ///< of a constant of int64

  std::int64_t rank() const { return std::ssize(extents); }
};

struct GraphNode {
  std::string name;       ///< unique, "conv1/Conv"
  std::string layer;      ///< the layer that it belongs to
  std::string operation;  ///< of ONNX's operator set 17: "Conv"
  std::vector<Value> inputs;
  Value output;
  Attributes attributes;
};

/// What a network computes in evaluation: nodes in an order in which each follows its inputs. The operators,
/// their attributes and their inputs are those of ONNX's operator set 17 (onnx.ai/onnx/operators), each with
/// one output. Tensors have the layout of files: maps (N, C, H, W), sequences (N, T, C), weights as in
/// checkpoints.
class Graph {
 public:
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  Value input, output;

  const GraphTensor& at(Value value) const { return tensors[static_cast<std::size_t>(value.index)]; }
  GraphTensor& at(Value value) { return tensors[static_cast<std::size_t>(value.index)]; }
  const Extents& extents(Value value) const { return at(value).extents; }

  /// Nodes from now on belong to this layer.
  void begin_layer(std::string name) { layer_ = std::move(name); }
  const std::string& layer() const { return layer_; }

  Value add_input(const std::string& name, Extents extents, ElementType type);
  /// The tensor that ends the graph, under a name for its users.
  void set_output(Value value, const std::string& name);
  /// A constant under this very name; the one of that name if there is one already.
  Value named_constant(const std::string& name, Extents extents, std::vector<float> values);
  /// A constant of the layer.
  Value constant(std::string_view name, Extents extents, std::vector<float> values);
  Value integers(std::string_view name, std::vector<std::int64_t> values);
  /// The output of a new node, which has these extents.
  Value add(std::string_view operation, std::vector<Value> inputs, Extents extents,
            Attributes attributes = {});

 private:
  std::string unique(const std::string& name);
  Value add_tensor(GraphTensor tensor);

  std::string layer_ = "input";
  std::map<std::string, int> names_;
};

}  // namespace trainer
