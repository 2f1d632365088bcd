#include <memory>
#include <vector>

#include "models/layers/sequence.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Layers whose activations are not kept: backward computes them again from x, in memory that all such layers
/// share (Chen, Xu, Zhang and Guestrin 2016, "Training deep nets with sublinear memory cost",
/// arXiv:1604.06174). The values and gradients have the bits that the layers alone give.
class Recompute final : public CompositeLayer {
 public:
  explicit Recompute(const Config& config) : config_(config), layers_(config.items("layers")) {
    if (layers_.entries().empty()) config.fail("layers", "a recompute has no layers");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    if (plan.recomputes())
      config_.fail("layers", "a recompute inside another one saves no memory", "remove one of the two");
    const RecomputedPlan recomputed(plan);
    const Shape output = layers_.setup(sample, plan);
    y_ = plan.saved(output.size());
    plan.backward_reads(true, false);
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override { layers_.forward(x, y, pass); }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const Tensor y = pass.buffer(y_).as(dy.shape());
    layers_.recompute(x, y, pass);
    layers_.backward(x, y, dy, dx, pass);
  }
  bool is_stepwise() const override { return layers_.is_stepwise(); }
  Value trace(Value x, Tracer& tracer) const override { return layers_.trace(x, tracer); }

  std::vector<Sequence*> sequences() override { return {&layers_}; }
  std::int64_t flops() const override { return layers_.flops(); }

 private:
  Config config_;
  Sequence layers_;
  Buffer<> y_;
};

const Registry<Layer>::Add recompute_layer{
    {.name = "recompute",
     .help = "layers whose activations are not kept for backward, which computes them again: less memory, "
             "more time",
     .primary = "layers",
     .settings = {list_of("layers", "the layers", family("layer", "a layer", "layer"))}},
    [](const Config& config) { return std::make_unique<Recompute>(config); }};

}  // namespace
}  // namespace trainer
