#include "models/network/bias_activation.h"

#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/linear.h"

namespace trainer {

Shape BiasActivation::setup(const Shape& sample, Plan& plan) {
  units_ = sample[sample.rank() - 1];
  positions_ = sample.with_last(1).size();
  if (!bias_name_.empty()) {
    Parameter bias = Linear::bias(units_, bias_name_);
    bias.layer = layer_;
    bias_ = plan.parameter(bias);
  }
  activation_.setup(sample.size(), plan);
  plan.backward_reads(false, activation_.reads_y());
  plan.works_in_place();
  return sample;
}

void BiasActivation::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const sums = activation_.sums(y, pass);
  if (sums != x.data()) std::ranges::copy(x.span(), sums);
  activation_.forward(pass.rows() * positions_, units_, sums, bias_ ? pass.value(bias_).data() : nullptr,
                      y.data());
}

void BiasActivation::backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  activation_.backward(y, dy, pass);
  if (bias_)
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const std::int64_t first = worker.first * positions_, count = worker.count * positions_;
      column_sums(count, units_, dy.data() + first * units_, false, pass.gradient(bias_, worker).data());
    }
  if (!dx.empty() && dx.data() != dy.data()) std::ranges::copy(dy.span(), dx.data());
}

}  // namespace trainer
