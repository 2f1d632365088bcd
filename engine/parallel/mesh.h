#pragma once

#include <memory>

#include "engine/parallel/communicator.h"

namespace trainer {

/// The ranks as a grid of `data` x `model`: rank = data_rank * model + model_rank, so a model group's ranks
/// are consecutive. Ranks of one host are consecutive (start_world() numbers them so).
class Mesh {
 public:
  struct Options {
    int data = 1, model = 1;  ///< data * model ranks
    int ranks_per_node = 0;   ///< so many consecutive ranks count as a node; 0: a node is a host
  };
  /// The groups of one rank, and the nodes that `data` spans.
  struct Groups {
    std::unique_ptr<Communicator> data, model, node;
    int nodes = 1;
    std::unique_ptr<Mesh> as_data_ranks = nullptr;  ///< null if there is one model rank
  };
  /// Error(ranks) when data * model is not the number of ranks.
  Mesh(Communicator& world, const Options& options);
  /// A mesh whose groups are known. Not collective.
  Mesh(Groups groups, Communicator& world);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  Communicator& world() const { return world_; }
  /// Ranks with my model coordinate: they hold the same parameters and different samples.
  Communicator& data() const { return *data_; }
  /// Ranks with my samples: they hold different shards.
  Communicator& model() const { return *model_; }
  /// The part of data() on my node.
  Communicator& node() const { return *node_; }
  int nodes() const { return nodes_; }  ///< nodes that data() spans
  /// The mesh for what no rank holds a shard of: all ranks in their order as data ranks.
  Mesh& as_data_ranks() { return as_data_ranks_ ? *as_data_ranks_ : *this; }
  const Mesh& as_data_ranks() const { return as_data_ranks_ ? *as_data_ranks_ : *this; }

 private:
  Communicator& world_;
  std::unique_ptr<Communicator> data_, model_, node_;
  int nodes_ = 1;
  std::unique_ptr<Mesh> as_data_ranks_;  ///< null if there is one model rank
};

}  // namespace trainer
