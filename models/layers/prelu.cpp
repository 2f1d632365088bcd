#include <algorithm>

#include "engine/math/activations.h"
#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = x where x > 0, a x elsewhere; a is learned, one for each channel or one for all (He et al. 2015,
/// "Delving deep into rectifiers"). The shape stays.
class Prelu final : public Layer {
 public:
  explicit Prelu(const Config& config)
      : initial_(config.get<float>("negative_slope")), shared_(config.get<bool>("shared")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    channels_ = sample[sample.rank() - 1];
    // The kernels take a factor for each channel; a shared one is repeated and its gradients are added.
    factors_ = shared_ ? plan.scratch(0, channels_) : Buffer<>();
    weight_ = plan.parameter(
        {.name = "weight", .shape = {shared_ ? 1 : channels_}, .is_weight = false, .constant = initial_});
    sums_ = plan.scratch(0, channels_);
    plan.backward_reads(true, false);
    plan.works_in_place();
    terms_ = plan.scratch(sample.size());
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    prelu(x.size() / channels_, channels_, factors(pass), x.data(), y.data());
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const Tensor terms(pass.buffer(terms_).data(), dy.shape());
    prelu_backward(dy.size() / channels_, channels_, factors(pass), x.data(), dy.data(), dx.data(),
                   terms.data());
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const Tensor gradient = pass.gradient(weight_, worker);
      const ConstTensor mine = terms.rows(worker.first, worker.count);
      float* const sums = shared_ ? pass.buffer(sums_).data() : gradient.data();
      column_sums(mine.size() / channels_, channels_, mine.data(), false, sums);
      if (!shared_) continue;
      double sum = 0;
      for (std::int64_t c = 0; c < channels_; ++c) sum += static_cast<double>(sums[c]);
      gradient[0] = static_cast<float>(sum);
    }
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    // One factor for each channel, aligned with x from the last extent on.
    Extents extents{shared_ ? 1 : channels_};
    if (tracer.graph.at(x).rank() == 4) extents.resize(3, 1);
    return binary(tracer.graph, "PRelu", x, tracer.parameter(weight_, extents));
  }

 private:
  const float* factors(const Pass& pass) const {
    if (!shared_) return pass.value(weight_).data();
    const Tensor equal = pass.buffer(factors_);
    std::ranges::fill(equal.span(), pass.value(weight_)[0]);
    return equal.data();
  }

  float initial_;
  bool shared_;
  std::int64_t channels_ = 0;
  ParameterId weight_;
  Buffer<> factors_, sums_, terms_;
};

const Registry<Layer>::Add prelu_layer{
    {.name = "prelu",
     .help = "x where x > 0, a learned factor times x elsewhere",
     .settings =
         {real("negative_slope", "initial factor of negative values").fallback("0.25").formerly("slope"),
          boolean("shared", "one factor for all channels (or features), not one for each")
              .fallback("false")
              .formerly("slopes")}},
    [](const Config& config) { return std::make_unique<Prelu>(config); }};

}  // namespace
}  // namespace trainer
