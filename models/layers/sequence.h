#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/layers/layer.h"
#include "models/layers/nested_plan.h"

namespace trainer {

/// Layers one after the other: the network itself, the body of a residual, a branch. Names its layers, puts
/// `flatten` before a dense layer that follows a map, and keeps the activations between them.
class Sequence final : public Layer {
 public:
  struct Entry {
    std::unique_ptr<Layer> layer;
    std::string type;                   ///< "conv", for numbering
    std::string name = {};              ///< the declared one; after setup the one that it has
    std::optional<Config> config = {};  ///< none for layers that no file names
    /// Computes the rows of Pass::of_split_rows(). Only the first entries of a network do; an exchange that
    /// gathers all rows follows them.
    bool splits_rows = false;
    // From setup on:
    Shape output = {};  ///< of one sample
    NestedPlan::Traits traits = {};
    Buffer<> memory = {};                                 ///< of the output, unless it lies elsewhere
    bool over_input = false;                              ///< writes its output over its input
    std::int64_t first_parameter = 0, parameter_end = 0;  ///< offsets in the flat buffer
    /// The parameters that the layer itself reads: its own, and those that it shares with earlier ones.
    /// Layers in a sequence inside it read theirs themselves.
    std::vector<Range> parameters = {};
    /// Has parameters that are not frozen; equal on all ranks, also on one whose shard is empty.
    bool learns = false;
  };

  explicit Sequence(const std::vector<Config>& layers);

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;

  /// Forward again, in backward: gives the same bits, and calls no all_reduce.
  void recompute(ConstTensor x, Tensor y, Pass& pass);

  std::int64_t flops() const override;
  bool is_stepwise() const override;
  Value trace(Value x, Tracer& tracer) const override;

  /// After setup: whether backward reads the sequence's input, or its output.
  bool reads_input() const;
  bool reads_output() const;

  /// Rewritten before setup (model parallelism); read by the summary and wrapped for timing afterwards.
  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  /// Gives the output's shape; `widest`: floats of the largest tensor between two layers.
  Shape setup_entries(const Shape& sample, Plan& plan, std::int64_t& widest);
  /// Where entry `index` writes its output; y for the last one.
  Tensor place_of(std::size_t index, Tensor y, Pass& pass) const;
  ConstTensor input_of(std::size_t index, ConstTensor x, Tensor y, Pass& pass) const;
  /// The pass of an entry.
  static Pass& pass_of(const Entry& entry, Pass& pass);

  std::vector<Entry> entries_;
  Buffer<> gradients_[2];
  std::size_t first_trained_ = 0;  ///< the first entry that learns
};

/// A layer that holds others.
class CompositeLayer : public Layer {
 public:
  virtual std::vector<Sequence*> sequences() = 0;
};

}  // namespace trainer
