#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "models/layers/fused_activation.h"
#include "models/layers/layer.h"

namespace trainer {

/// Bias and activation of a layer that is sharded along its inputs, after the partial sums are added.
class BiasActivation final : public Layer {
 public:
  /// `layer`: the name of the sharded layer, from its setup on; it outlives this one. The parameter is that
  /// layer's: "dense2.bias". `bias`: its name; empty: none.
  BiasActivation(const std::string& layer, std::string bias, Activation activation)
      : layer_(layer), bias_name_(std::move(bias)), activation_(activation) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  bool separates_documents() const override { return true; }

 private:
  const std::string& layer_;
  std::string bias_name_;
  std::int64_t positions_ = 0, units_ = 0;
  ParameterId bias_;
  FusedActivation activation_;
};

}  // namespace trainer
