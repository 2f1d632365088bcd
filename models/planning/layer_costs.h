#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/network/exchange.h"
#include "models/network/network.h"

namespace trainer {

/// What an entry of a network's sequence costs a rank.
struct LayerCost {
  std::string name, type;
  Shape output;                 ///< of one sample
  std::int64_t parameters = 0;  ///< elements; of the whole layer, also where a rank holds a shard
  /// "784x[0, 250)" for each weight of which the rank holds a shard; "rows / 2" where it computes a share of
  /// the rows.
  std::string shard;
  double share = 1;  ///< of the layer's operations that this rank computes
  /// Floating-point operations of a sample; of the whole layer. Backward multiplies twice, once for the
  /// gradient of the weights and once for that of the input, where a layer before it learns; a recompute
  /// computes forward again.
  std::int64_t forward = 0, backward = 0;
  Range range;  ///< of its parameters in the flat buffer
  /// Doubles of each all-reduce of statistics over the batch (batch_norm).
  std::vector<std::int64_t> forward_statistics, backward_statistics;
  std::vector<ExchangeTraffic> traffic;  ///< with the model group, in the order of forward
  bool splits_rows = false;              ///< the rank computes its share of the rows of its model group
  bool is_configured = true;             ///< false: no file names it (an exchange)
};

/// In the order of forward. `network`: as a rank builds it.
std::vector<LayerCost> layer_costs(const Network& network);

/// The share of an entry's operations that a rank computes: of each layer, that of its weights that the rank
/// holds.
double share_of_operations(const Sequence::Entry& entry, const NetworkPlan& plan);

/// Operations of a sample that a rank computes, forward and backward.
double operations_of(const std::vector<LayerCost>& layers);

}  // namespace trainer
