#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/sequence.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The elementwise product of branches that read the same input: with two dense layers, of which one has an
/// activation, a gated linear unit (Shazeer 2020, "GLU variants improve transformer").
class Multiply final : public CompositeLayer {
 public:
  explicit Multiply(const Config& config) : config_(config) {
    for (const Config& layers : config.items("branches")) branches_.push_back({Sequence(layers.items())});
    if (branches_.size() < 2) config.fail("branches", "a product of less than two branches");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    bool reads_x = false;
    for (Branch& branch : branches_) {
      const Shape output = branch.layers.setup(sample, plan);
      if (&branch == &branches_.front()) output_ = output;
      if (output != output_)
        fail_to_fit(config_, plan, sample,
                    "branches give " + channels_first_text(output_) + " and " + channels_first_text(output),
                    "branches of the same shape");
      branch.y = plan.saved(output.size());
      reads_x = reads_x || branch.layers.reads_input();
    }
    branch_dy_ = plan.scratch(output_.size());
    branch_dx_ = plan.scratch(sample.size());
    plan.backward_reads(reads_x, false);
    return output_;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    for (Branch& branch : branches_) branch.layers.forward(x, output_of(branch, pass), pass);
    const auto multiply_by = [&](const float* factor, std::size_t b) {
      multiply(y.size(), factor, output_of(branches_[b], pass).data(), y.data());
    };
    multiply_by(output_of(branches_[0], pass).data(), 1);
    for (std::size_t b = 2; b < branches_.size(); ++b) multiply_by(y.data(), b);
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const Tensor branch_dy(pass.buffer(branch_dy_).data(), dy.shape());
    for (std::size_t b = branches_.size(); b-- > 0;) {
      std::ranges::copy(dy.span(), branch_dy.data());
      for (std::size_t other = 0; other < branches_.size(); ++other)
        if (other != b)
          multiply(dy.size(), branch_dy.data(), output_of(branches_[other], pass).data(), branch_dy.data());
      const bool is_first = b + 1 == branches_.size();
      const Tensor branch_dx =
          dx.empty() || is_first ? dx : Tensor(pass.buffer(branch_dx_).data(), dx.shape());
      branches_[b].layers.backward(x, output_of(branches_[b], pass), branch_dy, branch_dx, pass);
      if (!dx.empty() && !is_first) accumulate(dx.size(), branch_dx.data(), dx.data());
    }
  }
  bool is_stepwise() const override {
    return std::ranges::all_of(branches_, [](const Branch& branch) { return branch.layers.is_stepwise(); });
  }
  Value trace(Value x, Tracer& tracer) const override {
    Value product = branches_.front().layers.trace(x, tracer);
    for (std::size_t b = 1; b < branches_.size(); ++b)
      product = binary(tracer.graph, "Mul", product, branches_[b].layers.trace(x, tracer));
    return product;
  }

  std::vector<Sequence*> sequences() override {
    std::vector<Sequence*> result;
    for (Branch& branch : branches_) result.push_back(&branch.layers);
    return result;
  }
  std::int64_t flops() const override {
    std::int64_t sum = 0;
    for (const Branch& branch : branches_) sum += branch.layers.flops();
    return sum;
  }

 private:
  struct Branch {
    Sequence layers;
    Buffer<> y = {};
  };
  Tensor output_of(const Branch& branch, const Pass& pass) const {
    return pass.buffer(branch.y).as(output_.with_front(pass.rows()));
  }

  Config config_;
  std::vector<Branch> branches_;
  Shape output_;
  Buffer<> branch_dy_, branch_dx_;
};

const Registry<Layer>::Add registered{
    {.name = "multiply",
     .help = "the elementwise product of branches that read the same input, such as a gated linear unit",
     .primary = "branches",
     .settings = {list_of("branches", "lists of layers; an empty list is the identity",
                          list_of("branch", "the layers of a branch", family("layer", "a layer", "layer")))}},
    [](const Config& config) { return std::make_unique<Multiply>(config); }};

}  // namespace
}  // namespace trainer
