#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/position_table.h"
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
    const std::int64_t positions = plan.positions(sample[0]);
    weight_ = plan.parameter(
        {.name = "weight", .shape = {positions, sample[1]}, .fan_in = positions, .fan_out = sample[1]});
    is_stepwise_ = plan.is_stepwise();
    plan.backward_reads(false, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const ConstTensor weight = pass.value(weight_);
    if (pass.is_packed()) {
      const std::int64_t positions = weight.shape()[0], units = weight.row_size();
      for (std::int64_t at = 0; at < pass.rows() * positions; ++at)
        add(units, x.data() + at * units,
            weight.data() + pass.position(at / positions, at % positions) * units, y.data() + at * units);
    } else if (is_stepwise_)
      add(x.size(), x.data(), weight.rows(pass.position(0, 0), pass.rows()).data(), y.data());
    else
      bias_activate(Activation::none, pass.rows(), weight.size(), x.data(), weight.data(), y.data());
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (const VirtualWorker& worker : pass.virtual_workers())
      sum_by_position(dy, worker, pass.gradient(weight_, worker), pass);
    if (!dx.empty() && dx.data() != dy.data()) std::ranges::copy(dy.span(), dx.data());
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    return binary(tracer.graph, "Add", x, tracer.parameter(weight_));
  }

 private:
  Config config_;
  ParameterId weight_;
  bool is_stepwise_ = false;
};

const Registry<Layer>::Add positions_layer{
    {.name = "positions",
     .help =
         "learned position embedding, added to a sequence of vectors (as `embedding: {positions: learned}`)"},
    [](const Config& config) { return std::make_unique<Positions>(config); }};

}  // namespace
}  // namespace trainer
