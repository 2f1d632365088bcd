#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace trainer {

/// Layers one after the other: the network itself, a residual's body, a branch. Names its layers, puts
/// `flatten` before a dense layer that follows a map, and keeps what lies between them.
class Sequence final : public Layer {
 public:
  struct Entry {
    std::unique_ptr<Layer> layer;
    std::string type;                   ///< "conv", for numbering
    std::string name = {};              ///< the declared one; after setup the one it got
    std::optional<Config> config = {};  ///< none for layers that no file names
    // From setup on:
    Shape output = {};  ///< of one sample
    Plan::Traits traits = {};
    BufferId memory = {};                                 ///< of the output, unless it lies elsewhere
    bool over_input = false;                              ///< writes its output over its input
    std::int64_t first_parameter = 0, parameter_end = 0;  ///< offsets in the flat buffer
    /// Has parameters that are not frozen; alike on all ranks, also on one that holds no unit of the layer.
    bool learns = false;
  };

  explicit Sequence(const std::vector<Config>& layers);

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;

  std::int64_t flops() const override;

  /// After setup: whether backward reads the sequence's input, or its output.
  bool reads_input() const;
  bool reads_output() const;

  /// To be rewritten before setup (model parallelism); for the summary and for timing afterwards.
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  /// Where entry `index` writes its output; y for the last one.
  Tensor place_of(std::size_t index, Tensor y, const Pass& pass) const;
  ConstTensor input_of(std::size_t index, ConstTensor x, Tensor y, const Pass& pass) const;

  std::vector<Entry> entries_;
  BufferId gradients_[2];
  std::size_t first_trained_ = 0;  ///< the first entry that learns
};

}  // namespace trainer
