#pragma once

#include <span>
#include <vector>

#include "models/graph/graph.h"
#include "models/losses/link.h"
#include "models/network/network.h"

namespace trainer {

/// What surrounds the layers of a network in its graph.
struct GraphEnds {
  bool has_padding = false;  ///< samples are sequences of several lengths
  /// Of each channel: the layers get scale x + shift. Empty: x itself.
  std::vector<float> scale = {}, shift = {};
  /// From the outputs of the last layer to predictions, of each position if there are several.
  Link link = Link::identity;
  /// All outputs are one answer, in the order of memory, whatever their shape; else those of a position are.
  bool is_one_answer = false;
  /// Of each channel of the outputs: predictions are scale y + shift. Empty: y itself.
  std::vector<float> output_scale = {}, output_shift = {};
};

/// The network in evaluation, from `input` (N, ...) to `output` (N, ...); the input of a first layer
/// `embedding` is of int64. `values` and `states`: those of Network::attach(); adapters are merged into their
/// weights. Error(usage) names a layer that operations cannot express.
Graph network_graph(const Network& network, std::span<const float> values, std::span<const float> states,
                    const GraphEnds& ends);

}  // namespace trainer
