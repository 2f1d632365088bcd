#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/sequence.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Branches that read the same input; their outputs are concatenated along the last extent: channels or
/// features, (..., C) -> (..., sum of the branches' channels).
class Concat final : public CompositeLayer {
 public:
  explicit Concat(const Config& config) : config_(config) {
    for (const Config& layers : config.items("branches")) branches_.push_back({Sequence(layers.items())});
    if (branches_.empty()) config.fail("branches", "a concat without branches");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    bool reads_x = false;
    joined_ = 0;
    for (Branch& branch : branches_) {
      branch.output = branch.layers.setup(sample, plan);
      branch.width = branch.output[branch.output.rank() - 1];
      branch.y = plan.saved(branch.output.size());
      branch.dy = plan.scratch(branch.output.size());
      branch.first = joined_;
      joined_ += branch.width;
      reads_x = reads_x || branch.layers.reads_input();
      if (branch.output.with_last(1) != branches_.front().output.with_last(1))
        fail_to_fit(config_, plan, sample,
                    "branches give " + channels_first_text(branches_.front().output) + " and " +
                        channels_first_text(branch.output),
                    "branches may differ in channels (or features) only");
    }
    positions_ = branches_.front().output.with_last(1).size();
    branch_dx_ = plan.scratch(sample.size());
    plan.backward_reads(reads_x, false);
    return branches_.front().output.with_last(joined_);
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    for (Branch& branch : branches_) {
      const Tensor branch_y = pass.buffer(branch.y).as(branch.output.with_front(pass.rows()));
      branch.layers.forward(x, branch_y, pass);
      for (std::int64_t row = 0; row < pass.rows() * positions_; ++row)
        std::copy_n(branch_y.data() + row * branch.width, branch.width,
                    y.data() + row * joined_ + branch.first);
    }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (std::size_t b = branches_.size(); b-- > 0;) {
      Branch& branch = branches_[b];
      const Shape shape = branch.output.with_front(pass.rows());
      const Tensor branch_dy = pass.buffer(branch.dy).as(shape);
      for (std::int64_t row = 0; row < pass.rows() * positions_; ++row)
        std::copy_n(dy.data() + row * joined_ + branch.first, branch.width,
                    branch_dy.data() + row * branch.width);
      const bool is_first = b + 1 == branches_.size();
      const Tensor branch_dx =
          dx.empty() || is_first ? dx : Tensor(pass.buffer(branch_dx_).data(), dx.shape());
      branch.layers.backward(x, pass.buffer(branch.y).as(shape), branch_dy, branch_dx, pass);
      if (!dx.empty() && !is_first) accumulate(dx.size(), branch_dx.data(), dx.data());
    }
  }
  bool is_stepwise() const override {
    return std::ranges::all_of(branches_, [](const Branch& branch) { return branch.layers.is_stepwise(); });
  }
  Value trace(Value x, Tracer& tracer) const override {
    std::vector<Value> parts;
    for (const Branch& branch : branches_) parts.push_back(branch.layers.trace(x, tracer));
    const std::int64_t last = tracer.graph.at(parts.front()).rank() - 1;
    return concatenate(tracer.graph, parts, last == 3 ? 1 : last);
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
    Shape output = {};                  // of one sample
    std::int64_t first = 0, width = 0;  // of the last extent of y
    Buffer<> y = {}, dy = {};
  };

  Config config_;
  std::vector<Branch> branches_;
  std::int64_t positions_ = 0, joined_ = 0;
  Buffer<> branch_dx_;
};

const Registry<Layer>::Add registered{
    {.name = "concat",
     .help = "branches that read the same input; their outputs are concatenated, maps along the channels",
     .primary = "branches",
     .settings = {list_of("branches", "lists of layers; an empty list is the identity",
                          list_of("branch", "the layers of a branch", family("layer", "a layer", "layer")))}},
    [](const Config& config) { return std::make_unique<Concat>(config); }};

}  // namespace
}  // namespace trainer
