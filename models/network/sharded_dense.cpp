#include "models/network/sharded_dense.h"

#include <vector>

namespace trainer {

Shape ShardedDense::setup(const Shape& sample, Plan& plan) {
  name_ = plan.layer_name();
  has_gradient_ = plan.has_parameters();
  const std::int64_t inputs = sample[sample.rank() - 1];
  units_ = settings_.expand > 0 ? Shape{settings_.expand, inputs}.size() : settings_.units;
  const std::int64_t divided = by_inputs() ? first_->units() : units_;
  const Range part = group_.part(divided);
  share_ = static_cast<double>(part.count()) / static_cast<double>(divided);
  const Shape whole{by_inputs() ? divided : inputs, units_};
  outputs_ = by_inputs() ? units_ : part.count();
  positions_ = sample.with_last(1).size();
  flops_ = Plan::flops({positions_, whole[0], whole[1]});

  const Linear::Extents extents{positions_, inputs, outputs_};
  Parameter weight = Linear::weight(extents);
  weight.fan_in = whole[0];
  weight.fan_out = whole[1];
  weight.shard_axis = by_inputs() ? 0 : 1;
  weight.shard_first = part.first;
  weight.whole = whole;
  Parameter bias = Linear::bias(outputs_);
  bias.shard_axis = by_inputs() ? -1 : 0;
  bias.shard_first = part.first;
  bias.whole = Shape{units_};
  const bool completes_sums = !by_inputs() || group_.exact();
  const bool has_bias = settings_.bias && completes_sums;
  if (settings_.tied_to.empty())
    product_ = Linear(plan, extents, weight, has_bias ? std::optional(bias) : std::nullopt);
  else
    product_ = Linear(extents, plan.share(settings_.tied_to + ".weight").value(),
                      has_bias ? plan.parameter(bias) : ParameterId(), true);
  const Shape output = sample.with_last(outputs_);
  activation_ = FusedActivation(completes_sums ? settings_.activation : Activation::none);
  activation_.setup(output.size(), plan);
  plan.backward_reads(true, activation_.reads_y());

  if (group_.exact()) {
    sum_ = UnitSum(group_, divided, 1, positions_, by_inputs() ? outputs_ : inputs, plan);
    const std::vector<std::int64_t>& tiles = sum_.borders();
    product_.split_products(by_inputs() ? tiles : std::vector<std::int64_t>{0, inputs},
                            by_inputs() ? std::vector<std::int64_t>{0, outputs_} : tiles);
  }
  return output;
}

ExchangeTraffic ShardedDense::traffic() const {
  if (by_inputs()) return {.gathered_forward = sum_.gathered()};
  return {.gathered_backward = has_gradient_ ? sum_.gathered() : 0};
}

void ShardedDense::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const sums = activation_.sums(y, pass);
  if (sum_ && by_inputs())
    sum_.sum(pass, sums, [&](const Range& lines, const Range& inputs, float* part) {
      product_.forward(x.data(), lines, inputs, part, pass);
    });
  else
    product_.forward(x.data(), sums, pass);
  activation_.forward(pass.rows() * positions_, outputs_, sums, product_.bias_values(pass), y.data());
}

void ShardedDense::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  activation_.backward(y, dy, pass);
  product_.backward_parameters(x.data(), dy.data(), pass);
  if (dx.empty()) return;
  if (sum_ && !by_inputs())
    sum_.sum(pass, dx.data(), [&](const Range& lines, const Range& units, float* part) {
      product_.backward_data(dy.data(), lines, units, part, pass);
    });
  else
    product_.backward_data(dy.data(), dx.data(), pass);
}

}  // namespace trainer
