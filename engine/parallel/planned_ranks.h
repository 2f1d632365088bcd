#pragma once

#include "engine/parallel/mesh.h"

namespace trainer {

/// Rank 0 of a mesh that does not run: gives the objects that plan a run the groups of that rank, without
/// other processes. Groups know their size. A collective call is a logic_error, but for those of ShardPlan,
/// whose results follow from the mesh because all nodes have equally many ranks.
class PlannedRanks {
 public:
  /// `options.ranks_per_node` of 0: all ranks are on one node. Error(ranks) if nodes would have unequal
  /// numbers of ranks, or a node holds a part of one model group and all of another.
  explicit PlannedRanks(const Mesh::Options& options);

  Mesh& mesh() { return mesh_; }
  const Mesh& mesh() const { return mesh_; }
  /// All nodes, and the ranks of each.
  int nodes() const { return world_->size() / ranks_per_node_; }
  int ranks_per_node() const { return ranks_per_node_; }
  /// Nodes that a model group spans.
  int nodes_of_model() const;

 private:
  int ranks_per_node_;
  std::unique_ptr<Communicator> world_;
  Mesh mesh_;
};

}  // namespace trainer
