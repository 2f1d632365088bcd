#pragma once

#include <optional>

#include "models/layers/sequence.h"
#include "models/network/row_exchange.h"

namespace trainer {

/// Shards layers of a network over the ranks of `group`, before setup, also those inside residuals: a dense
/// layer along outputs, and one that follows along inputs if that sends fewer bytes; attention by heads;
/// the two dense layers of a gated linear unit along outputs, if a dense layer follows; an embedding of the
/// top level and the dense layers that share its weight by tokens. Layers inside other branches and
/// recomputes, and those that share another weight, stay whole. Where `rows` is given, the layers before the
/// first one with a shard split the rows of the group, if they compute more than it costs to gather their
/// output; every rank computes the others in full. In exact mode layers are sharded for a group of one rank,
/// too: it sums over the same tiles as a larger one.
void shard_layers(Sequence& layers, ModelGroup& group, const std::optional<RowSplit>& rows = {});

}  // namespace trainer
