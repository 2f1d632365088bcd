#include "models/layers/layer.h"

namespace trainer {
namespace {

/// y = x from 0 to 6, and the nearer of these beyond (Sandler et al. 2018, "MobileNetV2").
class Relu6 final : public Layer {
 public:
  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, true);
    plan.works_in_place();
    return sample;
  }
  bool is_elementwise() const override { return true; }
  // Written so that NaN passes through both ways.
  void forward(ConstTensor x, Tensor y, Pass&) override {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const float number = x[i];
      y[i] = number < 0 ? 0 : number > kMost ? kMost : number;
    }
  }
  void backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass&) override {
    if (dx.empty()) return;
    for (std::int64_t i = 0; i < dy.size(); ++i) dx[i] = y[i] <= 0 || y[i] >= kMost ? 0 : dy[i];
  }

 private:
  static constexpr float kMost = 6;
};

const Registry<Layer>::Add registered{
    {.name = "relu6", .help = "x from 0 to 6, and the nearer of these beyond"},
    [](const Config&) { return std::make_unique<Relu6>(); }};

}  // namespace
}  // namespace trainer
