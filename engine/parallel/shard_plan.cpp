#include "engine/parallel/shard_plan.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "engine/parallel/bucket_plan.h"

namespace trainer {

ShardPlan::ShardPlan(Communicator& data, int node_rank, int node_ranks,
                     const std::vector<std::int64_t>& borders, const Options& options)
    : replicated_(options.replicated) {
  if (options.whole_parameters) borders_ = borders;
  std::array<double, 2> extremes{static_cast<double>(node_ranks), -static_cast<double>(node_ranks)};
  data.maximum(extremes);
  const int lanes = static_cast<int>(-extremes[1]);
  several_nodes_ = node_ranks < data.size();
  one_rank_per_node_ = extremes[0] == 1;
  if (replicated_ && !one_rank_per_node_) throw std::logic_error("only whole nodes update replicas");
  // In the window there is no latency to hide: one bucket is summed in one sweep.
  std::int64_t bucket_floats = options.bucket_floats;
  if (bucket_floats == 0)
    bucket_floats = several_nodes_
                        ? best_bucket(borders.back(), data.size() / std::max(1, lanes), NetworkLink{})
                        : std::max<std::int64_t>(borders.back(), 1);
  const bool cuts = options.cut_floats > 0 && several_nodes_ && !options.whole_parameters;
  buckets_ = plan_buckets(cuts ? with_cuts(borders, options.cut_floats) : borders, bucket_floats);

  const bool owns = node_rank < lanes;
  lane_ = data.split(owns ? node_rank : lanes, data.rank());
  nodes_ = owns ? lane_->size() : 0;
  for (const Range& bucket : buckets_) {
    lane_slices_.push_back(owns ? part_of_range(bucket, node_rank, lanes) : Range{});
    for (int node = 0; node < nodes_; ++node)
      counts_.push_back(slice_of(static_cast<int>(std::ssize(lane_slices_)) - 1, node).count());
  }
  for (auto whole = lane_slices_.rbegin(); whole != lane_slices_.rend() && owns; ++whole) {
    const Range mine = replicated_ ? *whole : part_of_range(*whole, lane_->rank(), nodes_);
    if (!shard_.empty() && shard_.back().last == mine.first)
      shard_.back().last = mine.last;
    else if (mine.count() > 0)
      shard_.push_back(mine);
    if (whole->first < mine.first) replicas_.push_back({whole->first, mine.first});
    if (mine.last < whole->last) replicas_.push_back({mine.last, whole->last});
  }
}

Range ShardPlan::slice_of(int bucket, int node) const {
  return replicated_ ? lane_slice(bucket) : part_of_range(lane_slice(bucket), node, nodes_);
}

Range ShardPlan::part_of_range(const Range& whole, int part, int parts) const {
  return borders_.empty() ? slice(whole, part, parts) : slice_of_parameters(borders_, whole, part, parts);
}

std::span<const std::int64_t> ShardPlan::counts(int bucket) const {
  const auto nodes = static_cast<std::size_t>(nodes_);
  return std::span(counts_).subspan(static_cast<std::size_t>(bucket) * nodes, nodes);
}

}  // namespace trainer
