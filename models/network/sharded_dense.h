#pragma once

#include <cstdint>
#include <string>

#include "models/layers/dense.h"
#include "models/network/unit_sum.h"

namespace trainer {

/// A dense layer whose weight is partitioned over ranks (Shoeybi et al. 2019, "Megatron-LM", section 3). In
/// exact mode it adds over the sharded extent itself; else y or dx is this rank's partial sum, and an
/// exchange adds those of other ranks.
class ShardedDense final : public Layer, public Exchanging {
 public:
  /// Along outputs: y is this rank's units; weight and bias are shards. A weight that it shares is that of an
  /// embedding with as many tokens as it has units, of which each rank holds the same part.
  ShardedDense(const DenseSettings& settings, ModelGroup& group) : settings_(settings), group_(group) {}
  /// Along inputs: x is this rank's units of `first`, which is set up before it and outlives it. Outside
  /// exact mode y is a part of the sum without bias and activation.
  ShardedDense(const DenseSettings& settings, ModelGroup& group, const ShardedDense& first)
      : settings_(settings), group_(group), first_(&first) {}

  const DenseSettings& settings() const { return settings_; }
  // After setup():
  /// "dense2".
  const std::string& name() const { return name_; }
  /// Of the whole layer.
  std::int64_t units() const { return units_; }

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  bool separates_documents() const override { return true; }
  ExchangeTraffic traffic() const override;
  /// Of the layer's operations, those of this rank.
  double share() const { return share_; }

 private:
  bool by_inputs() const { return first_ != nullptr; }

  DenseSettings settings_;
  ModelGroup& group_;
  const ShardedDense* first_ = nullptr;
  UnitSum sum_;
  std::string name_;
  std::int64_t positions_ = 0, units_ = 0, outputs_ = 0, flops_ = 0;  ///< outputs: of the shard
  Linear product_;
  FusedActivation activation_;
  double share_ = 1;
  bool has_gradient_ = false;  ///< of its input
};

}  // namespace trainer
