#pragma once

#include <memory>

#include "engine/core/virtual_workers.h"
#include "models/network/exchange.h"

namespace trainer {

/// How the rows of a batch are partitioned where the first layers of a model are computed data-parallel on
/// the ranks that shard the others (Krizhevsky 2014, "One weird trick", arXiv:1404.5997).
struct RowSplit {
  VirtualWorkers whole;  ///< over data ranks: the rows of layers that see all rows of a model group
  VirtualWorkers split;  ///< over the ranks of all model groups: those of the first layers
  int data_rank = 0;
};

/// Gathers the rows of a model group: x has this worker's rows of the first layers, y those of the others.
/// `sums`: dy is this rank's partial sum, and backward adds those of the group (reduce-scatter); else dy is
/// whole, and backward takes this rank's rows. The group outlives the layer.
std::unique_ptr<Layer> make_row_exchange(ModelGroup& group, const RowSplit& rows, bool sums);

}  // namespace trainer
