#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = x + w, (T, C) -> (T, C): a learned position embedding w (T, C) (Vaswani et al. 2017, section 3.5).
class Positions final : public Layer {
 public:
  explicit Positions(const Config& config) : config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    if (sample.rank() != 2)
      fail_to_fit(config_, plan, sample, "it requires a sequence of vectors",
                  "`reshape` and `permute` make one of a map");
    weight_ = plan.parameter({.name = "weight", .shape = sample, .fan_in = sample[0], .fan_out = sample[1]});
    plan.backward_reads(false, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const ConstTensor weight = pass.value(weight_);
    bias_activate(Activation::none, pass.rows(), weight.size(), x.data(), weight.data(), y.data());
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const Tensor gradient = pass.gradient(weight_, worker);
      column_sums(worker.count, gradient.size(), dy.data() + worker.first * gradient.size(), false,
                  gradient.data());
    }
    if (!dx.empty() && dx.data() != dy.data()) std::ranges::copy(dy.span(), dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    return binary(tracer.graph, "Add", x, tracer.parameter(weight_));
  }

 private:
  Config config_;
  ParameterId weight_;
};

const Registry<Layer>::Add registered{
    {.name = "positions",
     .help =
         "learned position embedding, added to a sequence of vectors (as `embedding: {positions: learned}`)"},
    [](const Config& config) { return std::make_unique<Positions>(config); }};

}  // namespace
}  // namespace trainer
