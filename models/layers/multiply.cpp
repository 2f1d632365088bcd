#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/branches.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The elementwise product of the branches: with two dense layers, of which one has an activation, a gated
/// linear unit (Shazeer 2020, "GLU variants improve transformer").
class Multiply final : public BranchedLayer {
 public:
  explicit Multiply(const Config& config) : BranchedLayer(config) {
    if (branches_.size() < 2) config.fail("branches", "a product of less than two branches");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    setup_branches(sample, plan);
    const Shape& output = branches_.front().output;
    for (const Branch& branch : branches_)
      if (branch.output != output)
        fail_to_fit(
            config_, plan, sample,
            "branches give " + channels_first_text(output) + " and " + channels_first_text(branch.output),
            "branches of the same shape");
    branch_dy_ = plan.scratch(output.size());
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    forward_branches(x, pass);
    const float* product = output_of(branches_[0], pass).data();
    for (std::size_t b = 1; b < branches_.size(); ++b) {
      multiply(y.size(), product, output_of(branches_[b], pass).data(), y.data());
      product = y.data();
    }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const Tensor branch_dy(pass.buffer(branch_dy_).data(), dy.shape());
    for (std::size_t b = branches_.size(); b-- > 0;) {
      std::ranges::copy(dy.span(), branch_dy.data());
      for (std::size_t other = 0; other < branches_.size(); ++other)
        if (other != b)
          multiply(dy.size(), branch_dy.data(), output_of(branches_[other], pass).data(), branch_dy.data());
      backward_branch(b, x, branch_dy, dx, pass);
    }
  }
  Value trace(Value x, Tracer& tracer) const override {
    Value product = branches_.front().layers.trace(x, tracer);
    for (std::size_t b = 1; b < branches_.size(); ++b)
      product = binary(tracer.graph, "Mul", product, branches_[b].layers.trace(x, tracer));
    return product;
  }

 private:
  Buffer<> branch_dy_;
};

const Registry<Layer>::Add multiply_layer{
    {.name = "multiply",
     .help = "the elementwise product of branches that read the same input, such as a gated linear unit",
     .primary = "branches",
     .settings = {BranchedLayer::setting()}},
    [](const Config& config) { return std::make_unique<Multiply>(config); }};

}  // namespace
}  // namespace trainer
