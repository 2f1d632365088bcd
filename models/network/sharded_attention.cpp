#include "models/network/sharded_attention.h"

#include <optional>
#include <utility>

namespace trainer {

Shape ShardedAttention::setup(const Shape& sample, Plan& plan) {
  name_ = plan.layer_name();
  has_gradient_ = plan.has_parameters();
  heads_.fit(sample, plan);
  const std::int64_t positions = sample[0], width = sample[1];
  const Range part = group_.part(width, heads_.unit());
  features_ = part.count();

  const std::int64_t projected = heads_.projected(width), sharing = heads_.sharing();
  const Linear::Extents in{positions, width, heads_.projected(features_)}, out{positions, features_, width};
  Parameter in_weight = Linear::weight(in, "in_proj_weight");
  in_weight.fan_out = projected;
  in_weight.shard_axis = 1;
  in_weight.shard_groups = {sharing, 1, 1};  // queries, keys, values
  in_weight.shard_first = part.first / sharing;
  in_weight.whole = Shape{width, projected};
  Parameter in_bias = Linear::bias(in.outputs, "in_proj_bias");
  in_bias.shard_axis = 0;
  in_bias.shard_groups = in_weight.shard_groups;
  in_bias.shard_first = in_weight.shard_first;
  in_bias.whole = Shape{projected};
  Parameter out_weight = Linear::weight(out, "out_proj.weight");
  out_weight.fan_in = width;
  out_weight.shard_axis = 0;
  out_weight.shard_first = part.first;
  out_weight.whole = Shape{width, width};
  const auto if_biased = [&](Parameter bias, bool is_here) {
    return heads_.has_bias() && is_here ? std::optional(std::move(bias)) : std::nullopt;
  };
  in_projection_ = Linear(plan, in, std::move(in_weight), if_biased(std::move(in_bias), true));
  out_projection_ = Linear(plan, out, std::move(out_weight),
                           if_biased(Linear::bias(width, "out_proj.bias"), group_.exact()));
  heads_.book(features_, plan);
  plan.backward_reads(true, false);
  flops_ = Plan::flops({positions, width, width + projected}) + heads_.flops(width);

  if (group_.exact()) {
    sum_ = UnitSum(group_, width, heads_.unit(), positions, width, plan);
    const std::vector<std::int64_t>& tiles = sum_.borders();
    out_projection_.split_products(tiles, {0, width});
    std::vector<std::int64_t> columns{0};
    for (std::size_t tile = 1; tile < tiles.size(); ++tile) columns.push_back(tiles[tile]);
    for (int which = 0; which < 2; ++which)
      for (std::size_t tile = 1; tile < tiles.size(); ++tile)
        columns.push_back(keys_of({0, tiles[tile]}, which).last);
    in_projection_.split_products({0, width}, std::move(columns));
  }
  return sample;
}

Range ShardedAttention::keys_of(const Range& features, int which) const {
  const std::int64_t sharing = heads_.sharing(), begin = features_ + which * (features_ / sharing);
  return {begin + features.first / sharing, begin + features.last / sharing};
}

ExchangeTraffic ShardedAttention::traffic() const {
  return {.gathered_forward = sum_.gathered(), .gathered_backward = has_gradient_ ? sum_.gathered() : 0};
}

void ShardedAttention::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const qkv = heads_.qkv(pass);
  in_projection_.forward(x.data(), qkv, pass);
  in_projection_.add_bias(qkv, pass);
  heads_.forward(pass);
  const float* const context = heads_.context(pass);
  if (!sum_) return out_projection_.forward(context, y.data(), pass);
  sum_.sum(pass, y.data(), [&](const Range& lines, const Range& features, float* part) {
    out_projection_.forward(context, lines, features, part, pass);
  });
  out_projection_.add_bias(y.data(), pass);
}

void ShardedAttention::backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) {
  out_projection_.backward(heads_.context(pass), dy.data(), heads_.dcontext(pass), pass);
  const float* const dqkv = heads_.backward(pass);
  in_projection_.backward_parameters(x.data(), dqkv, pass);
  if (dx.empty()) return;
  if (!sum_) return in_projection_.backward_data(dqkv, dx.data(), pass);
  sum_.sum(pass, dx.data(), [&](const Range& lines, const Range& features, float* part) {
    in_projection_.backward_data(dqkv, lines, features, part, pass);
    for (int which = 0; which < 2; ++which)
      in_projection_.backward_data(dqkv, lines, keys_of(features, which), part, pass, true);
  });
}

}  // namespace trainer
