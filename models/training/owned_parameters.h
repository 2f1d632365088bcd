#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/arena.h"
#include "engine/parallel/gradient_reducer.h"
#include "models/network/plan.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

/// The part of the parameters that this rank updates, with the optimizer's states for it.
class OwnedParameters {
 public:
  OwnedParameters(const Plan& plan, GradientReducer& reducer, std::size_t states);

  std::span<const Segment> segments() const { return segments_; }
  /// After GradientReducer::finish().
  bool gradients_are_finite() const;
  /// One of the optimizer's states of all data ranks, flat like the parameters, on data rank 0; empty
  /// elsewhere. Collective.
  std::vector<float> gather_state(std::size_t state, std::int64_t parameter_end, Communicator& data) const;

 private:
  Arena states_;
  std::vector<Segment> segments_;
  std::vector<std::int64_t> offsets_;  ///< of each segment in the flat buffer
};

}  // namespace trainer
