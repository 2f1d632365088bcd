#pragma once

#include <vector>

#include "engine/parallel/mesh.h"
#include "engine/parallel/shard_plan.h"
#include "models/network/network.h"

namespace trainer {

/// Parameters that the same ranks hold, reduce and update.
struct PlacedParameters {
  const Mesh& mesh;        ///< its data ranks
  VirtualWorkers workers;  ///< of these ranks
  ShardPlan shards;        ///< of floats counted from floats.first
  Range floats;            ///< of the flat buffer

  /// Gradients that a rank keeps in the window: one for each root of its workers' trees.
  int gradients_of_rank() const;
  /// Values that a node sends for each gradient: in exact mode one for each root of its tree, else 1.
  int values_of_node() const;
};

/// As ParameterWindows places them, in the order of backward: those of the data ranks, then those of layers
/// that split rows, if there are any. `has_feedback`: compression with error feedback, so that
/// each rank updates all parameters. `whole_parameters`: see ShardPlan. `mesh` outlives the result.
/// Collective, as ShardPlan.
std::vector<PlacedParameters> placed_parameters(const Network& network, Mesh& mesh, bool has_feedback = false,
                                                bool whole_parameters = false);

}  // namespace trainer
