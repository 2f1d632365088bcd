#include <algorithm>

#include "engine/math/elementwise.h"
#include "engine/math/uniform.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// In training each element is zero with probability `rate`, else divided by 1 - rate; in evaluation y = x
/// (Srivastava et al. 2014). The shape stays.
class Dropout final : public Layer {
 public:
  explicit Dropout(const Config& config) : rate_(config.get<float>("rate")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    name_ = plan.layer_name();
    mask_ = plan.saved(sample.size());
    plan.backward_reads(false, false);
    plan.works_in_place();
    return sample;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    if (!pass.training()) {
      if (x.data() != y.data()) std::ranges::copy(x.span(), y.data());
      return;
    }
    draw_mask(pass);
    multiply(x.size(), x.data(), pass.buffer(mask_).data(), y.data());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) multiply(dy.size(), dy.data(), pass.buffer(mask_).data(), dx.data());
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer&) const override { return x; }

 private:
  /// The mask of a sample follows from its index alone.
  void draw_mask(const Pass& pass) const {
    const RandomStream stream = pass.random(name_);
    const Tensor mask = pass.buffer(mask_);
    const std::int64_t size = mask_.per_row;
    const float kept = 1 / (1 - rate_);
    for (std::int64_t row = 0; row < pass.rows(); ++row) {
      const auto sample = static_cast<std::uint64_t>(pass.samples()[static_cast<std::size_t>(row)]);
      fill_uniform(stream, sample * static_cast<std::uint64_t>(size), mask.rows(row, 1).span());
    }
    for (float& value : mask.span()) value = value < rate_ ? 0 : kept;
  }

  float rate_;
  std::string name_;
  Buffer<> mask_;
};

const Registry<Layer>::Add dropout_layer{
    {.name = "dropout",
     .help = "in training, random elements become zero and the others are scaled by 1 / (1 - rate)",
     .primary = "rate",
     .settings = {real("rate", "probability of an element to become zero").at_least(0).below(1)}},
    [](const Config& config) { return std::make_unique<Dropout>(config); }};

}  // namespace
}  // namespace trainer
