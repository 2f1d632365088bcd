#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/math/activation.h"
#include "models/layers/block_sum.h"
#include "models/layers/layer.h"

namespace trainer {

/// y = activation(x W + b) on the last extent. In a header of its own because model parallelism cuts it.
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
  void find_weight_gradient(ConstTensor x, ConstTensor dy, const Block& block, Tensor dw) const;

  std::int64_t units_;
  bool has_bias_;
  Activation activation_;
  Cut cut_;
  std::unique_ptr<BlockSum> block_sum_;

  std::string name_;
  std::int64_t positions_ = 0, inputs_ = 0, outputs_ = 0;  // of one sample, of the part
  std::int64_t whole_inputs_ = 0, flops_ = 0;
  bool adds_bias_ = false;  // here, not behind an exchange
  Activation applied_ = Activation::none;
  ParameterId weight_, bias_;
  BufferId sum_;  // before the activation, where its slope follows from that
  std::vector<std::int64_t> input_borders_, unit_borders_;  // of the blocks that BLAS computes by themselves
  BufferId parts_, sum_scratch_;                            // of block_sum_
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
  BufferId sum_;
};

}  // namespace trainer
