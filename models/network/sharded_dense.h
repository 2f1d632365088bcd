#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "models/layers/dense.h"
#include "models/network/unit_sum.h"

namespace trainer {

/// The shard of a dense layer that one rank computes.
struct DenseShard {
  enum class Along {
    outputs,  ///< y is units [first, last); weight and bias are shards
    inputs    ///< x is features [first, last); y is a part of the sum without bias and activation, unless a
              ///< UnitSum completes it
  };
  Along along = Along::outputs;
  std::int64_t first = 0, last = 0;
  std::int64_t inputs = 0;  ///< of the whole layer, if sharded along inputs
};

/// A dense layer whose weight is partitioned over ranks (Shoeybi et al. 2019, "Megatron-LM", section 3).
class ShardedDense final : public Layer, public Exchanging {
 public:
  /// `settings`: of a layer with `units` and a weight of its own. `sum`: in exact mode, adds over the sharded
  /// extent; if it is null, y or dx is this rank's partial sum, and an exchange adds those of other ranks.
  ShardedDense(const DenseSettings& settings, const DenseShard& shard, std::unique_ptr<UnitSum> sum = nullptr)
      : settings_(settings), shard_(shard), unit_sum_(std::move(sum)) {}

  /// Of the whole layer.
  const DenseSettings& settings() const { return settings_; }
  /// After setup(): "dense2".
  const std::string& name() const { return name_; }

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  ExchangeTraffic traffic() const override;

 private:
  bool by_inputs() const { return shard_.along == DenseShard::Along::inputs; }
  template <class Product>
  void sum_tiles(const Pass& pass, std::span<float> total, Product product) const;

  DenseSettings settings_;
  DenseShard shard_;
  std::unique_ptr<UnitSum> unit_sum_;
  std::string name_;
  std::int64_t positions_ = 0, outputs_ = 0, flops_ = 0;  ///< outputs: of the shard
  Linear product_;
  FusedActivation activation_;
  Buffer<> parts_, sum_scratch_;  ///< of unit_sum_
  bool has_gradient_ = false;     ///< of its input
};

/// Bias and activation of a dense layer that is sharded along its inputs, after the partial sums are added.
/// The parameter is the dense layer's, "dense2.bias". The dense layer must outlive it and be set up before
/// it.
class BiasActivation final : public Layer {
 public:
  explicit BiasActivation(const ShardedDense& dense) : dense_(dense) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;

 private:
  const ShardedDense& dense_;
  std::int64_t positions_ = 0, units_ = 0;
  ParameterId bias_;
  FusedActivation activation_;
};

}  // namespace trainer
