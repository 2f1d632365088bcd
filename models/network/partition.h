#pragma once

#include "models/layers/sequence.h"
#include "models/network/exchange.h"

namespace trainer {

/// Shards the dense layers of a network over the ranks of `group`, before setup: along outputs, and a dense
/// layer that follows along inputs if that sends fewer bytes. Every rank computes all other layers in full.
/// `exact`: a group of one rank sums over the same tiles of units as a larger group, so that all have the
/// same bits.
void shard_dense_layers(Sequence& layers, ModelGroup& group, bool exact);

}  // namespace trainer
