#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/range.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// Assigns the floats of the flat buffer to the ranks that update them (ZeRO stage 1, Rajbhandari et al.
/// 2020). The l-th rank of every node has lane l: the l-th slice of each bucket. The ranks of a lane, one on
/// each node, partition it. If nodes have unequal numbers of ranks, ranks beyond the smallest number update
/// nothing. Where ranks update replicas, each rank updates all.
class ShardPlan {
 public:
  struct Options {
    std::int64_t bucket_floats = 0;  ///< the size at which a bucket is closed; 0: as the link requires
    std::int64_t cut_floats = 0;     ///< a larger parameter is cut into several buckets; 0: none is
    bool replicated = false;         ///< every node updates all floats; only with one rank on each
    bool whole_parameters = false;   ///< one rank updates all of a parameter
  };
  /// `borders`: where each parameter begins in the flat buffer, ascending from 0, and at the end its size.
  /// Collective over `data`, whose rank is the `node_rank`th of `node_ranks` on its node.
  ShardPlan(Communicator& data, int node_rank, int node_ranks, const std::vector<std::int64_t>& borders,
            const Options& options);

  std::span<const Range> buckets() const { return buckets_; }
  /// The floats that this rank updates, ascending.
  std::span<const Range> shard() const { return shard_; }
  /// The floats of the lane that other nodes update, ascending.
  std::span<const Range> replicas() const { return replicas_; }

  bool several_nodes() const { return several_nodes_; }
  bool replicated() const { return replicated_; }
  /// True if every node has one rank.
  bool one_rank_per_node() const { return one_rank_per_node_; }
  /// Nodes of the lane; 0 if this rank updates nothing.
  int nodes() const { return nodes_; }
  /// The ranks of the lane; one on each node.
  Communicator& lane() const { return *lane_; }
  /// The lane's part of a bucket, and the part of it that the lane's rank on `node` updates.
  Range lane_slice(int bucket) const { return lane_slices_[static_cast<std::size_t>(bucket)]; }
  Range slice_of(int bucket, int node) const;
  /// The same for this rank.
  Range my_slice(int bucket) const { return slice_of(bucket, lane_->rank()); }
  /// The sizes of the slices of a bucket, by node.
  std::span<const std::int64_t> counts(int bucket) const;

 private:
  Range part_of_range(const Range& whole, int part, int parts) const;

  std::vector<std::int64_t> borders_;  ///< of parameters that are not cut; empty: all may be
  std::vector<Range> buckets_, lane_slices_, shard_, replicas_;
  std::vector<std::int64_t> counts_;  ///< by bucket, then node
  std::unique_ptr<Communicator> lane_;
  bool several_nodes_ = false, one_rank_per_node_ = false, replicated_ = false;
  int nodes_ = 0;
};

}  // namespace trainer
