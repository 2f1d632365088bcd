#include <algorithm>

#include "models/layers/branches.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The outputs of the branches, concatenated along the last extent: channels or features, (..., C) ->
/// (..., sum of the branches' channels).
class Concat final : public BranchedLayer {
 public:
  explicit Concat(const Config& config) : BranchedLayer(config) {
    if (branches_.empty()) config.fail("branches", "a concat without branches");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    setup_branches(sample, plan);
    const Shape& first = branches_.front().output;
    std::int64_t widest = 0;
    joined_ = 0;
    for (const Branch& branch : branches_) {
      if (branch.output.with_last(1) != first.with_last(1))
        fail_to_fit(
            config_, plan, sample,
            "branches give " + channels_first_text(first) + " and " + channels_first_text(branch.output),
            "branches may differ in channels (or features) only");
      joined_ += width_of(branch);
      widest = std::max(widest, branch.output.size());
    }
    positions_ = first.with_last(1).size();
    branch_dy_ = plan.scratch(widest);
    return first.with_last(joined_);
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    forward_branches(x, pass);
    float* to = y.data();
    for (const Branch& branch : branches_) {
      const float* const from = output_of(branch, pass).data();
      for (std::int64_t row = 0; row < pass.rows() * positions_; ++row)
        std::copy_n(from + row * width_of(branch), width_of(branch), to + row * joined_);
      to += width_of(branch);
    }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const float* from = dy.data() + joined_;
    for (std::size_t b = branches_.size(); b-- > 0;) {
      const std::int64_t width = width_of(branches_[b]);
      const Tensor branch_dy(pass.buffer(branch_dy_).data(), branches_[b].output.with_front(pass.rows()));
      from -= width;
      for (std::int64_t row = 0; row < pass.rows() * positions_; ++row)
        std::copy_n(from + row * joined_, width, branch_dy.data() + row * width);
      backward_branch(b, x, branch_dy, dx, pass);
    }
  }
  Value trace(Value x, Tracer& tracer) const override {
    std::vector<Value> parts;
    for (const Branch& branch : branches_) parts.push_back(branch.layers.trace(x, tracer));
    const std::int64_t last = tracer.graph.at(parts.front()).rank() - 1;
    return concatenate(tracer.graph, parts, last == 3 ? 1 : last);
  }

 private:
  static std::int64_t width_of(const Branch& branch) { return branch.output[branch.output.rank() - 1]; }

  std::int64_t positions_ = 0, joined_ = 0;
  Buffer<> branch_dy_;
};

const Registry<Layer>::Add concat_layer{
    {.name = "concat",
     .help = "branches that read the same input; their outputs are concatenated, maps along the channels",
     .primary = "branches",
     .settings = {BranchedLayer::setting()}},
    [](const Config& config) { return std::make_unique<Concat>(config); }};

}  // namespace
}  // namespace trainer
