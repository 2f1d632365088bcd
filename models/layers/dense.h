#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/math/gemm.h"
#include "engine/math/types/activation.h"
#include "models/layers/block_sum.h"
#include "models/layers/layer.h"

namespace trainer {

/// y = activation(x W + b) on the last extent; with a shared weight, activation(x W' + b). In a header of its
/// own because model parallelism cuts it.
class Dense final : public Layer {
 public:
  /// The part of the whole layer that a rank computes.
  struct Cut {
    enum class Along {
      none,
      outputs,  ///< y is units [first, last); weight and bias are shards
      inputs    ///< x is features [first, last) of `inputs`; y is a part of the sum, without bias and
                ///< activation, unless a BlockSum makes it whole
    };
    Along along = Along::none;
    std::int64_t first = 0, last = 0;
    std::int64_t inputs = 0;  ///< of the whole layer, when cut along inputs
  };

  explicit Dense(const Config& config);

  /// Whether its units are known before setup() and its weight is its own.
  bool can_be_cut() const { return units_ > 0 && tied_to_.empty(); }
  /// The layer whose weight it uses; empty when it has its own.
  const std::string& tied_to() const { return tied_to_; }
  /// Of the whole layer, whatever the cut.
  std::int64_t units() const { return units_; }
  bool has_bias() const { return has_bias_; }
  Activation activation() const { return activation_; }
  /// Before setup(). `sum`: takes the sums over the extent that is cut, in exact mode; without it this rank's
  /// part is summed, and what comes behind or before has to add the others'.
  void cut(const Cut& part, std::unique_ptr<BlockSum> sum = nullptr) {
    cut_ = part;
    block_sum_ = std::move(sum);
  }
  /// After setup(): "dense2".
  const std::string& name() const { return name_; }

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }

 private:
  bool sums_forward() const { return block_sum_ && cut_.along == Cut::Along::inputs; }
  bool sums_backward() const { return block_sum_ && cut_.along == Cut::Along::outputs; }
  template <class Product>
  void sum_blocks(const Pass& pass, std::span<float> total, Product product) const;
  /// dw = x' dy + beta dw, where dw has these inputs only; all of them where BLAS computes.
  void find_weight_gradient(ConstTensor x, ConstTensor dy, const Block& block, const Range& inputs_here,
                            float beta, float* dw) const;
  void sum_weight_gradient(ConstTensor x, ConstTensor dy, Pass& pass) const;
  ParameterId find_tied_weight(const Shape& sample, Plan& plan) const;
  /// A shared weight lies (units, inputs).
  bool is_tied() const { return !tied_to_.empty(); }
  Transpose orientation() const { return is_tied() ? Transpose::yes : Transpose::no; }
  std::int64_t weight_row() const { return is_tied() ? inputs_ : outputs_; }
  std::int64_t weight_at(std::int64_t input, std::int64_t unit) const {
    return is_tied() ? unit * inputs_ + input : input * outputs_ + unit;
  }

  Config config_;
  std::int64_t units_ = 0, expand_ = 0;  // expand: units follow from the inputs
  bool has_bias_;
  std::string tied_to_;
  Activation activation_;
  Cut cut_;
  std::unique_ptr<BlockSum> block_sum_;

  std::string name_;
  std::int64_t positions_ = 0, inputs_ = 0, outputs_ = 0;  // of one sample, of the part
  std::int64_t whole_inputs_ = 0, flops_ = 0;
  bool adds_bias_ = false;  // here, not behind an exchange
  Activation applied_ = Activation::none;
  ParameterId weight_, bias_;
  BufferId slope_;  // of the activation, where it does not follow from y
  std::vector<std::int64_t> input_borders_, unit_borders_;  // of the blocks that BLAS computes by themselves
  BufferId parts_, sum_scratch_;                            // of block_sum_
  std::int64_t inputs_at_once_ = 0;                         // of which the blocks' gradients are added
  BufferId block_rows_;                                     // they themselves
};

/// Bias and activation of a dense layer that is cut along its inputs: what comes once the parts are summed.
/// The parameter keeps its name, "dense2.bias". The dense layer must outlive it and be set up before.
class BiasActivation final : public Layer {
 public:
  explicit BiasActivation(const Dense& dense) : dense_(dense) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;

 private:
  const Dense& dense_;
  std::int64_t positions_ = 0;
  ParameterId bias_;
  BufferId slope_;
};

}  // namespace trainer
