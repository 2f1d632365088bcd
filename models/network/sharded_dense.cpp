#include "models/network/sharded_dense.h"

#include <algorithm>
#include <vector>

#include "engine/math/elementwise.h"

namespace trainer {

Shape ShardedDense::setup(const Shape& sample, Plan& plan) {
  name_ = plan.layer_name();
  has_gradient_ = plan.has_parameters();
  const std::int64_t inputs = sample[sample.rank() - 1];
  const Shape whole{by_inputs() ? shard_.inputs : inputs, settings_.units};
  outputs_ = by_inputs() ? settings_.units : shard_.last - shard_.first;
  positions_ = sample.with_last(1).size();
  flops_ = Plan::flops({positions_, whole[0], whole[1]});

  const Linear::Extents extents{positions_, inputs, outputs_};
  Parameter weight = Linear::weight(extents);
  weight.fan_in = whole[0];
  weight.fan_out = whole[1];
  weight.shard_axis = by_inputs() ? 0 : 1;
  weight.shard_first = shard_.first;
  weight.whole = whole;
  Parameter bias = Linear::bias(outputs_);
  bias.shard_axis = by_inputs() ? -1 : 0;
  bias.shard_first = shard_.first;
  bias.whole = Shape{settings_.units};
  const bool completes_sums = !by_inputs() || unit_sum_;
  product_ =
      Linear(plan, extents, weight, settings_.bias && completes_sums ? std::optional(bias) : std::nullopt);
  const Shape output = sample.with_last(outputs_);
  activation_ = FusedActivation(completes_sums ? settings_.activation : Activation::none);
  activation_.setup(output.size(), plan);
  plan.backward_reads(true, activation_.reads_y());

  if (unit_sum_) {
    const std::vector<std::int64_t> tiles(unit_sum_->borders().begin(), unit_sum_->borders().end());
    product_.split_products(by_inputs() ? tiles : std::vector<std::int64_t>{0, inputs},
                            by_inputs() ? std::vector<std::int64_t>{0, outputs_} : tiles);
    const std::int64_t summed = (by_inputs() ? output : sample).size();
    parts_ = plan.scratch(Shape{summed, unit_sum_->tiles()}.size());
    sum_scratch_ = plan.scratch(Shape{summed, unit_sum_->scratch()}.size());
  }
  return output;
}

/// Only a UnitSum over several ranks has scratch: for what they gather.
ExchangeTraffic ShardedDense::traffic() const {
  if (by_inputs()) return {.gathered_forward = sum_scratch_.per_row};
  return {.gathered_backward = has_gradient_ ? sum_scratch_.per_row : 0};
}

/// total = the sum over the tiles of the cut extent, of all ranks; product(tile, part) fills a tile's part.
template <class Product>
void ShardedDense::sum_tiles(const Pass& pass, std::span<float> total, Product product) const {
  const std::span<const std::int64_t> borders = unit_sum_->borders();
  const std::span<float> parts(pass.buffer(parts_).data(),
                               total.size() * static_cast<std::size_t>(unit_sum_->tiles()));
  for (std::size_t i = 1; i < borders.size(); ++i)
    product(Range{borders[i - 1], borders[i]}, parts.data() + (i - 1) * total.size());
  unit_sum_->sum(
      pass.worker(), parts, total,
      {pass.buffer(sum_scratch_).data(), total.size() * static_cast<std::size_t>(unit_sum_->scratch())});
}

void ShardedDense::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const sums = activation_.sums(y, pass);
  if (unit_sum_ && by_inputs())
    sum_tiles(pass, {sums, static_cast<std::size_t>(y.size())},
              [&](const Range& inputs, float* part) { product_.forward(x.data(), inputs, part, pass); });
  else
    product_.forward(x.data(), sums, pass);
  activation_.forward(pass.rows() * positions_, outputs_, sums, product_.bias_values(pass), y.data());
}

void ShardedDense::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  activation_.backward(y, dy, pass);
  product_.backward_parameters(x.data(), dy.data(), pass);
  if (dx.empty()) return;
  if (unit_sum_ && !by_inputs())
    sum_tiles(pass, dx.span(),
              [&](const Range& units, float* part) { product_.backward_data(dy.data(), units, part, pass); });
  else
    product_.backward_data(dy.data(), {0, outputs_}, dx.data(), pass);
}

Shape BiasActivation::setup(const Shape& sample, Plan& plan) {
  units_ = dense_.settings().units;
  positions_ = sample.with_last(1).size();
  if (dense_.settings().bias) {
    Parameter bias = Linear::bias(units_);
    bias.layer = dense_.name();
    bias_ = plan.parameter(bias);
  }
  activation_ = FusedActivation(dense_.settings().activation);
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
