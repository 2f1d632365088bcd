#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/attention_heads.h"
#include "models/layers/linear.h"
#include "models/network/unit_sum.h"

namespace trainer {

/// Multi-head attention whose heads are partitioned over ranks: each has the columns of its heads' queries,
/// keys and values, and the rows of the output projection that see these heads (Shoeybi et al. 2019,
/// "Megatron-LM", section 3). In exact mode it adds over the heads itself; else y, without bias, and dx are
/// this rank's partial sums, and exchanges add those of other ranks.
class ShardedAttention final : public Layer, public Exchanging {
 public:
  /// `heads`: of a layer before its setup.
  ShardedAttention(const AttentionHeads& heads, ModelGroup& group) : heads_(heads), group_(group) {}

  bool has_bias() const { return heads_.has_bias(); }
  /// After setup(): "attention2".
  const std::string& name() const { return name_; }

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  std::int64_t flops() const override { return flops_; }
  bool separates_documents() const override { return true; }
  ExchangeTraffic traffic() const override;

 private:
  /// The outputs of the projection of the input that are keys (0) or values (1) of some features of queries.
  Range keys_of(const Range& features, int which) const;

  AttentionHeads heads_;
  ModelGroup& group_;
  UnitSum sum_;
  std::string name_;
  std::int64_t features_ = 0, flops_ = 0;  ///< features: of this rank's heads
  Linear in_projection_, out_projection_;
  bool has_gradient_ = false;  ///< of its input
};

}  // namespace trainer
