#include "models/planning/layer_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/network/sharded_dense.h"

namespace trainer {
namespace {

bool belongs_to(const Parameter& parameter, const Sequence::Entry& entry) {
  return parameter.offset >= entry.first_parameter && parameter.offset < entry.parameter_end;
}

/// "3x[0, 64)", or "[0, 64) [0, 16) [0, 16)" of groups that differ.
std::string groups_text(const Parameter& parameter) {
  const std::vector<std::int64_t>& lengths = parameter.shard_groups;
  const std::int64_t first = parameter.shard_first,
                     count = parameter.shape[parameter.shard_axis] /
                             std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::vector<std::string> groups;
  groups.reserve(lengths.size());
  for (const std::int64_t length : lengths)
    groups.push_back(fmt::format("[{}, {})", first * length, (first + count) * length));
  if (groups.size() == 1) return groups.front();
  const bool are_equal = std::ranges::count(groups, groups.front()) == std::ssize(groups);
  return are_equal ? fmt::format("{}x{}", groups.size(), groups.front())
                   : fmt::format("{}", fmt::join(groups, " "));
}

std::string shard_text(const Parameter& parameter) {
  std::string text;
  const Shape& whole = parameter.whole_shape();
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (axis > 0) text += "x";
    text += axis == parameter.shard_axis ? groups_text(parameter) : std::to_string(whole[axis]);
  }
  return text;
}

/// Calls visit(entry) for the layers inside an entry.
template <class Visit>
void for_each_inside(const Sequence::Entry& entry, Visit visit) {
  if (auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get()))
    for (const Sequence* sequence : composite->sequences())
      for (const Sequence::Entry& inner : sequence->entries()) visit(inner);
}

/// What a layer and those inside it exchange.
void add_traffic(const Sequence::Entry& entry, std::vector<ExchangeTraffic>& traffic) {
  if (const auto* const exchanging = dynamic_cast<const Exchanging*>(entry.layer.get()))
    traffic.push_back(exchanging->traffic());
  for_each_inside(entry, [&](const Sequence::Entry& inner) { add_traffic(inner, traffic); });
}

/// Adds the all-reduces of a layer and of those inside it (models/layers/batch_norm.cpp: two values of each
/// channel, forward and backward).
void add_statistics(const Sequence::Entry& entry, LayerCost& cost) {
  if (entry.type == "batch_norm") {
    const std::int64_t channels = entry.output[entry.output.rank() - 1];
    cost.forward_statistics.push_back(2 * channels);
    cost.backward_statistics.push_back(2 * channels);
  }
  for_each_inside(entry, [&](const Sequence::Entry& inner) { add_statistics(inner, cost); });
}

/// Operations of the second forward of recomputes: of this layer or of those inside it.
std::int64_t recomputed_operations(const Sequence::Entry& entry) {
  if (entry.type == "recompute") return entry.layer->flops();
  std::int64_t sum = 0;
  for_each_inside(entry, [&](const Sequence::Entry& inner) { sum += recomputed_operations(inner); });
  return sum;
}

}  // namespace

double share_of_operations(const Sequence::Entry& entry, const NetworkPlan& plan) {
  if (dynamic_cast<const CompositeLayer*>(entry.layer.get())) {
    const auto all = static_cast<double>(entry.layer->flops());
    double here = all;
    for_each_inside(entry, [&](const Sequence::Entry& inner) {
      here -= (1 - share_of_operations(inner, plan)) * static_cast<double>(inner.layer->flops());
    });
    return all > 0 ? here / all : 1;
  }
  // It may share the weight of another layer.
  if (const auto* const layer = dynamic_cast<const ShardedDense*>(entry.layer.get())) return layer->share();
  for (const Parameter& parameter : plan.parameters())
    if (parameter.is_weight && belongs_to(parameter, entry))
      return static_cast<double>(parameter.shape.size()) /
             static_cast<double>(parameter.whole_shape().size());
  return 1;
}

std::vector<LayerCost> layer_costs(const Network& network) {
  const std::vector<Sequence::Entry>& entries = network.layers().entries();
  const NetworkPlan& plan = network.plan();
  std::vector<LayerCost> costs;
  bool has_trained = false;  // a layer before this one learns
  for (const Sequence::Entry& entry : entries) {
    LayerCost cost{.name = entry.name,
                   .type = entry.type,
                   .output = entry.output,
                   .share = share_of_operations(entry, plan),
                   .forward = entry.layer->flops(),
                   .range = {entry.first_parameter, entry.parameter_end},
                   .is_configured = entry.config.has_value()};
    for (const Parameter& parameter : plan.parameters()) {
      if (!belongs_to(parameter, entry)) continue;
      cost.parameters += parameter.whole_shape().size();
      if (parameter.is_weight && parameter.shard_axis >= 0)
        cost.shard += (cost.shard.empty() ? "" : ", ") + shard_text(parameter);
    }
    if (entry.splits_rows) {
      cost.splits_rows = true;
      const int ranks = network.split_workers().ranks / network.virtual_workers().ranks;
      cost.share /= ranks;
      cost.shard = fmt::format("rows / {}", ranks);
    }
    cost.backward = has_trained ? 2 * cost.forward : entry.learns ? cost.forward : 0;
    if (cost.backward > 0) cost.backward += recomputed_operations(entry);
    has_trained |= entry.learns;
    add_statistics(entry, cost);
    add_traffic(entry, cost.traffic);
    costs.push_back(std::move(cost));
  }
  return costs;
}

double operations_of(const std::vector<LayerCost>& layers) {
  double sum = 0;
  for (const LayerCost& layer : layers)
    sum += layer.share * static_cast<double>(layer.forward + layer.backward);
  return sum;
}

}  // namespace trainer
