#pragma once

#include <optional>

#include "models/layers/sequence.h"
#include "models/network/row_exchange.h"

namespace trainer {

/// How layers are placed on a model group.
struct Partition {
  /// A group of one rank sums over the same tiles of units as a larger group, so that all have the same bits.
  bool exact = false;
  /// Null: every rank computes all layers but the sharded ones on all rows of the group.
  std::optional<RowSplit> rows = {};
};

/// Shards the dense layers of a network over the ranks of `group`, before setup: along outputs, and a dense
/// layer that follows along inputs if that sends fewer bytes. The layers before the first of them split the
/// rows of the group, if they compute more than it costs to gather their output; every rank computes the
/// layers that are neither in full.
void shard_dense_layers(Sequence& layers, ModelGroup& group, const Partition& partition);

}  // namespace trainer
