#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/flat_values.h"
#include "engine/core/range.h"
#include "engine/parallel/communicator.h"
#include "models/network/network_plan.h"
#include "models/training/loss_history.h"

namespace trainer {

/// What is known when a step was not finite.
struct DivergenceFacts {
  double own_loss = 0;  ///< the loss of this rank's rows
  /// A flat gradient of this rank, of the parameters from `offset` on.
  struct Gradient {
    std::span<const float> values;
    std::int64_t offset = 0;
    bool may_be_sum = true;  ///< holds those of other ranks where `overwritten` names it
  };
  std::vector<Gradient> gradients;
  std::vector<Range> overwritten;
  std::string array;  ///< this rank's array that is not finite, where loss and gradients are; or ""
  const LossHistory& losses;
  std::int64_t epoch = 0, step = 0;  ///< counted from 1
  double rate = 0;
  std::span<const Parameter> parameters;
  FlatValues<const float> values;
  std::vector<Range> readable;     ///< of the values
  std::vector<std::string> notes;  ///< to be added to the message
};

/// The error of a run whose loss, gradient or array is not finite. All ranks throw it together.
class Divergence : public Error {
 public:
  explicit Divergence(Diagnostic message) : Error(ExitCode::diverged, {std::move(message)}) {}
};

/// Names the step, the rank that saw it first, its host, the losses before and the largest parameter (of
/// those that this rank has). Collective over `world`; every rank gets the same message but for the last two
/// facts.
Divergence divergence(Communicator& world, const DivergenceFacts& facts);

}  // namespace trainer
