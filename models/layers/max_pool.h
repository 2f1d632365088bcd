#pragma once

#include <cstdint>
#include <span>

#include "models/layers/pooling.h"
#include "models/layers/tracer.h"

namespace trainer {

/// The largest value of each window: (H, W, C) -> (H', W', C). Backward sends dy to the winner of its window.
class MaxPool final : public Layer {
 public:
  explicit MaxPool(const Config& config);

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  Value trace(Value x, Tracer& tracer) const override {
    return tracer.graph.add("MaxPool", {x}, batch_extents(pooled_shape(geometry_)),
                            pooling_attributes(geometry_));
  }

  bool can_mask_relu() const { return positions_ < kMaxPositions; }
  /// Before setup: backward applies the derivative of the ReLU that ends the layer before. Of each window it
  /// looks at the winner only.
  void mask_relu() { masks_relu_ = true; }

 private:
  static constexpr std::int64_t kMaxPositions = 256;  ///< a winner is kept as one byte

  Config config_;
  std::int64_t positions_;  ///< of a window
  PoolingGeometry geometry_;
  bool masks_relu_ = false;
  Buffer<std::uint8_t> winners_;
};

}  // namespace trainer
