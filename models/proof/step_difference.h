#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/network/network_plan.h"
#include "models/proof/chain_hook.h"

namespace trainer {

/// What differs first in a step of two runs: the batch, else a gradient, else the weights after the update.
struct StepDifference {
  enum class Kind { batch, gradients, weights };

  std::int64_t step = 0;
  Kind kind = Kind::batch;
  /// Names of the samples or tensors that differ, in the order of the batch or the network; empty: several,
  /// which are not known.
  std::vector<std::string> items = {};

  /// "step 12: the gradient of dense1.weight", "step 12: the batch (sample 17)"
  std::string text() const;
};

/// The difference of a record from that of a replay, which has items. Of items that differ, one alone is
/// named.
std::optional<StepDifference> step_difference(const ChainRecord& recorded, const ChainRecord& replayed,
                                              const ChainItems& items, const NetworkPlan& plan);
/// The difference of two replays names all items that differ.
std::optional<StepDifference> step_difference(const ChainRecord& one, const ChainItems& items,
                                              const ChainRecord& other, const ChainItems& other_items,
                                              const NetworkPlan& plan);

}  // namespace trainer
