#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "models/layers/layer.h"

namespace trainer {

/// A layer that reports when its work began and ended.
class TimedLayer final : public Layer {
 public:
  using Clock = std::chrono::steady_clock;
  struct Work {
    int worker = 0;
    bool forward = true;
    std::int64_t flops = 0;  ///< of the whole layer, for the worker's rows
    Clock::time_point begin, end;
  };
  /// `report`: workers call it at the same time.
  TimedLayer(std::unique_ptr<Layer> layer, std::function<void(const Work&)> report)
      : layer_(std::move(layer)), report_(std::move(report)) {}

  Shape setup(const Shape& sample, Plan& plan) override { return layer_->setup(sample, plan); }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const auto begin = Clock::now();
    layer_->forward(x, y, pass);
    report_({pass.worker(), true, layer_->flops() * pass.rows(), begin, Clock::now()});
  }
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    const auto begin = Clock::now();
    // One product for the weights' gradient, one for the input's if a layer needs it.
    const std::int64_t products = dx.empty() ? 1 : 2;
    layer_->backward(x, y, dy, dx, pass);
    report_({pass.worker(), false, products * layer_->flops() * pass.rows(), begin, Clock::now()});
  }
  std::int64_t flops() const override { return layer_->flops(); }

 private:
  std::unique_ptr<Layer> layer_;
  std::function<void(const Work&)> report_;
};

}  // namespace trainer
