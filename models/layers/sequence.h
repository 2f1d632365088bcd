#pragma once

#include <array>
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
    Buffer<> memory = {};  ///< of the output, unless it lies elsewhere
    /// Where activations are stored as bfloat16: the output from forward to backward.
    Buffer<Bfloat16> stored = {};
    Buffer<> loaded = {};                                 ///< of the output in backward
    std::vector<StoredActivation> activations = {};       ///< of the layer itself
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
  using Traits = NestedPlan::Traits;
  /// Of the outputs in forward, or in backward.
  using Memory = Buffer<> Entry::*;
  /// Where entry `index` writes its output; y for the last one.
  Tensor place_of(std::size_t index, Tensor y, Pass& pass, Memory memory) const;
  ConstTensor input_of(std::size_t index, ConstTensor x, Tensor y, Pass& pass, Memory memory) const;
  /// Books memory for the gradients of outputs, and for outputs that are stored as bfloat16.
  void place_outputs(std::int64_t widest, Plan& plan);
  /// The entry whose stored output holds that of the first `count` entries; null: none does.
  const Entry* stored_output(std::size_t count) const;
  /// After forward of an entry in training.
  void store_activations(std::size_t index, Pass& pass) const;
  /// The outputs that lie in loaded_ during backward.
  using LoadedOutputs = std::array<const Entry*, 2>;
  /// Before backward of an entry: what it reads.
  void load_activations(std::size_t index, Pass& pass, LoadedOutputs& loaded) const;
  /// The pass of an entry.
  static Pass& pass_of(const Entry& entry, Pass& pass);

  std::vector<Entry> entries_;
  Buffer<> gradients_[2];          ///< in forward outputs that are stored as bfloat16, by turns
  Buffer<> loaded_[2];             ///< these outputs in backward
  std::size_t first_trained_ = 0;  ///< the first entry that learns
};

/// A layer that holds others.
class CompositeLayer : public Layer {
 public:
  virtual std::vector<Sequence*> sequences() = 0;
};

}  // namespace trainer
