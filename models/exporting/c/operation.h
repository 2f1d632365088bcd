#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/graph.h"

namespace trainer {

/// A node of a graph as a call of a C function. Extents are those of one sample: the batch is 1.
class CNode {
 public:
  struct Tensor {
    std::string place;  ///< an expression: "memory + 784", "w_conv1_weight"; "0" if it is left out
    Extents extents;
    const GraphTensor* constant = nullptr;  ///< null for a computed tensor
  };

  CNode(const GraphNode& node, std::vector<Tensor> inputs, Tensor output)
      : node_(node), inputs_(std::move(inputs)), output_(std::move(output)) {}

  const std::string& operation() const { return node_.operation; }
  std::size_t inputs() const { return inputs_.size(); }
  /// The place of an input; "0" if the node has none there.
  std::string x(std::size_t index = 0) const { return index < inputs_.size() ? inputs_[index].place : "0"; }
  const Extents& extents(std::size_t index = 0) const { return inputs_[index].extents; }
  /// The values of a constant input of int64.
  const std::vector<std::int64_t>& integers(std::size_t index) const {
    return inputs_[index].constant->integers;
  }
  const std::string& y() const { return output_.place; }
  const Extents& output() const { return output_.extents; }

  // Settings, or the default of ONNX:
  std::int64_t integer(const std::string& name, std::int64_t fallback = 0) const;
  std::vector<std::int64_t> integers(const std::string& name, std::vector<std::int64_t> fallback) const;
  float real(const std::string& name, float fallback) const;
  std::string word(const std::string& name, const std::string& fallback) const;
  std::vector<std::string> words(const std::string& name) const;

 private:
  template <class T>
  T setting(const std::string& name, T fallback) const;

  const GraphNode& node_;
  std::vector<Tensor> inputs_;
  Tensor output_;
};

/// How the C file computes an operator.
struct COperation {
  std::string_view operation;  ///< "Conv"
  /// The C function, which is written once; operations may share one.
  std::string_view function;
  /// The statements of a node.
  std::string (*call)(const CNode&);
  /// y may lie where x lies.
  bool works_in_place = false;
  /// The first inputs are arrays; constants after them are settings.
  std::size_t arrays = 16;
};

std::span<const COperation> convolution_operations();
std::span<const COperation> pooling_operations();
std::span<const COperation> product_operations();
std::span<const COperation> elementwise_operations();
std::span<const COperation> norm_operations();
std::span<const COperation> movement_operations();
std::span<const COperation> recurrent_operations();

/// Null for an operator that the C file does not have.
const COperation* find_c_operation(std::string_view operation);

/// The product of extents [first, last).
std::int64_t product(const Extents& extents, std::size_t first, std::size_t last);
/// "3, 5, 1"
std::string listed(std::span<const std::int64_t> values);
/// A float that C reads back with the same bits: "0.1f". Error(weights) if it is not finite.
std::string c_number(float value);

}  // namespace trainer
