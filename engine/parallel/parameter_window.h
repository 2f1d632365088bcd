#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/sum_tree.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/compression.h"
#include "engine/parallel/mesh.h"
#include "engine/parallel/node_window.h"
#include "engine/parallel/shard_plan.h"
#include "engine/parallel/sharding.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// The flat parameters and the flat gradient of every worker, in memory that the ranks of a node share. In
/// exact mode a worker has a gradient for each node of the tree over all virtual workers (SumTree) that its
/// own virtual workers make up.
class ParameterWindow {
 public:
  struct Options {
    std::int64_t bucket_floats = 0;  ///< the size at which a bucket is closed; 0: as the link requires
    /// Between nodes a larger parameter is cut into several buckets, so that its exchange begins before all
    /// of its gradient is computed, and ends before all of it is read. Not where gradients are sharded.
    std::int64_t cut_floats = 1 << 21;
    /// False: private buffers and MPI, as when /dev/shm is too small, and as where `replicated`.
    bool share = true;
    bool oversubscribed = false;          ///< more workers than cores: waiting yields at once
    int virtual_workers = 0;              ///< of exact mode; 0: one for each worker
    std::vector<std::int64_t> ends = {};  ///< in exact mode: VirtualWorkers::ends
    Compression compression = {};         ///< of what hosts exchange
    /// Every rank gets the sums of all gradients and updates all parameters. Always with error feedback;
    /// without it the caller makes the sums, and the reducer sends nothing.
    bool replicated = false;
    bool whole_parameters = false;  ///< one rank updates all of a parameter
    /// Gradients and parameters: private buffers, as without `share`, with memory for this rank's shard; for
    /// the rest only from commit to release. Nothing else with one data rank.
    Sharding sharding = Sharding::state;
  };
  /// `borders`: where each parameter begins in the flat buffer, ascending from 0, and at the end its size.
  /// Collective.
  ParameterWindow(Mesh& mesh, const ThreadPool& pool, const std::vector<std::int64_t>& borders,
                  const Options& options);

  /// All parameters. Shared by the node: between GradientReducer::finish() and publish() each rank writes its
  /// shard only; before the first step every rank writes the same values to all, then publishes. Of sharded
  /// parameters only the shard, and what is committed, may be read and written.
  std::span<float> values() { return window_->values(); }
  std::span<const float> values() const { return window_->values(); }
  /// This rank's gradients, by worker.
  int gradient_count() const { return gradient_count_; }
  std::span<float> gradients(int index);
  std::vector<std::span<float>> all_gradients();

  /// The floats that this rank updates, ascending. Each float belongs to one data rank.
  std::span<const Range> shard() const { return plan_->shard(); }
  /// The summed gradient of a part of the shard; valid from GradientReducer::finish() to the next begin().
  /// With bf16 the update leaves there how it changed the parameters (GradientReducer::start_publish_update).
  std::span<float> sums(const Range& part);
  /// The floats that other nodes update and publish() brings here, ascending; other ranks that share the
  /// window receive other parts.
  std::span<const Range> replicas() const {
    return shards_parameters() ? std::span<const Range>() : plan_->replicas();
  }
  /// This rank's index among the ranks that share the window, and their number.
  int sharer() const { return node_rank_; }
  int sharers() const { return node_ranks_; }

  bool shards_gradients() const { return options_.sharding != Sharding::state; }
  bool shards_parameters() const { return options_.sharding == Sharding::parameters; }
  /// Give memory to a range of sharded parameters, or take it back but for this rank's shard. Nothing where
  /// they are not sharded.
  void commit_values(const Range& range);
  void release_values(const Range& range);
  /// The same for all gradients of this rank. The shard stays in the first one.
  void commit_gradients(const Range& range);
  void release_gradients(const Range& range);

  /// "window" or "MPI" or "window + MPI"; "none" for one data rank. ", encoded": floats between hosts
  /// travel in a lossless code.
  std::string transport() const;
  /// True if the ranks of a node should share memory and the system has none for them.
  bool lacks_shared_memory() const { return refused_; }

  // For reducers:
  bool oversubscribed() const { return options_.oversubscribed; }
  const Compression& compression() const { return options_.compression; }
  NodeWindow& window() { return *window_; }
  const ShardPlan& plan() const { return *plan_; }
  /// The tree that adds the gradients of the node. One root, except in exact mode with several nodes.
  const SumTree& tree() const { return tree_; }
  const VirtualWorkers& virtual_workers() const { return virtual_workers_; }
  /// The virtual workers of the node.
  Range node_workers() const { return node_workers_; }

 private:
  void make_window(Mesh& mesh, const ThreadPool& pool, std::int64_t floats);
  void place_on(const Communicator& node, int data_rank, int threads);
  /// visit(first, last) for the parts of a range outside the shard.
  template <class Visit>
  void visit_others(const Range& range, Visit visit) const;

  Options options_;
  VirtualWorkers virtual_workers_;
  int data_ranks_;
  std::optional<NodeWindow> window_;
  int node_rank_ = 0, node_ranks_ = 1;
  Range node_workers_;
  int first_gradient_ = 0, gradient_count_ = 0, node_gradients_ = 0;
  SumTree tree_{1, {}};
  bool refused_ = false;
  std::optional<ShardPlan> plan_;
};

}  // namespace trainer
