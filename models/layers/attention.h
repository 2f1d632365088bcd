#pragma once

#include <cstdint>

#include "models/layers/adapted_linear.h"
#include "models/layers/attention_heads.h"

namespace trainer {

/// Multi-head self-attention, softmax(Q K' / sqrt(head size)) V for each head: (T, C) -> (T, C) (Vaswani et
/// al. 2017). Q, K and V are projections of x; their bias and that of the output are optional. Several heads
/// of Q may share one of K and V (Ainslie et al. 2023, "GQA").
class Attention final : public Layer {
 public:
  explicit Attention(const Config& config) : heads_(config), adapter_(adapter_settings(config)) {}

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  bool is_stepwise() const override { return heads_.is_stepwise(); }
  bool separates_documents() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override;

  const AttentionHeads& heads() const { return heads_; }
  bool has_adapters() const { return adapter_.rank > 0; }

 private:
  AttentionHeads heads_;
  AdapterSettings adapter_;
  std::int64_t flops_ = 0;
  AdaptedLinear in_projection_, out_projection_;
};

}  // namespace trainer
