#pragma once

#include <vector>

#include "models/layers/sequence.h"

namespace trainer {

/// A layer of branches that read the same input.
class BranchedLayer : public CompositeLayer {
 public:
  std::vector<Sequence*> sequences() override;
  std::int64_t flops() const override;
  bool is_stepwise() const override;

  /// The setting `branches`.
  static Setting setting();

 protected:
  struct Branch {
    Sequence layers;
    Shape output = {};  ///< of one sample
    Buffer<> y = {};
  };

  explicit BranchedLayer(const Config& config);

  void setup_branches(const Shape& sample, Plan& plan);
  /// Computes the output of each branch.
  void forward_branches(ConstTensor x, Pass& pass);
  /// From the last branch to the first: adds a branch's part to dx, unless dx is empty.
  void backward_branch(std::size_t branch, ConstTensor x, Tensor dy, Tensor dx, Pass& pass);
  Tensor output_of(const Branch& branch, const Pass& pass) const {
    return pass.buffer(branch.y).as(branch.output.with_front(pass.rows()));
  }

  Config config_;
  std::vector<Branch> branches_;

 private:
  Buffer<> branch_dx_;
};

}  // namespace trainer
