#include "models/layers/branches.h"

#include <algorithm>

#include "engine/math/elementwise.h"

namespace trainer {

BranchedLayer::BranchedLayer(const Config& config) : config_(config) {
  for (const Config& layers : config.items("branches")) branches_.push_back({Sequence(layers.items())});
}

Setting BranchedLayer::setting() {
  return list_of("branches", "lists of layers; an empty list is the identity",
                 list_of("branch", "the layers of a branch", family("layer", "a layer", "layer")));
}

std::vector<Sequence*> BranchedLayer::sequences() {
  std::vector<Sequence*> result;
  for (Branch& branch : branches_) result.push_back(&branch.layers);
  return result;
}

std::int64_t BranchedLayer::flops() const {
  std::int64_t sum = 0;
  for (const Branch& branch : branches_) sum += branch.layers.flops();
  return sum;
}

bool BranchedLayer::is_stepwise() const {
  return std::ranges::all_of(branches_, [](const Branch& branch) { return branch.layers.is_stepwise(); });
}

void BranchedLayer::setup_branches(const Shape& sample, Plan& plan) {
  bool reads_x = false;
  for (Branch& branch : branches_) {
    branch.output = branch.layers.setup(sample, plan);
    branch.y = plan.activation(branch.output.size());
    reads_x = reads_x || branch.layers.reads_input();
  }
  branch_dx_ = plan.scratch(sample.size());
  plan.backward_reads(reads_x, false);
}

void BranchedLayer::forward_branches(ConstTensor x, Pass& pass) {
  for (Branch& branch : branches_) branch.layers.forward(x, output_of(branch, pass), pass);
}

void BranchedLayer::backward_branch(std::size_t branch, ConstTensor x, Tensor dy, Tensor dx, Pass& pass) {
  const bool is_first = branch + 1 == branches_.size();
  const Tensor branch_dx = dx.empty() || is_first ? dx : Tensor(pass.buffer(branch_dx_).data(), dx.shape());
  branches_[branch].layers.backward(x, output_of(branches_[branch], pass), dy, branch_dx, pass);
  if (!dx.empty() && !is_first) accumulate(dx.size(), branch_dx.data(), dx.data());
}

}  // namespace trainer
