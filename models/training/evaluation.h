#pragma once

#include <functional>
#include <optional>

#include "models/training/batch.h"
#include "models/training/review.h"

namespace trainer {

/// Receives the outputs of an evaluation, batch by batch.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  /// The network has computed these samples of the split. Collective over data ranks.
  virtual void add(std::span<const std::int64_t> samples, const BatchRunner& runner) = 0;
};

/// Scores over a whole split, every sample exactly once, the same on all ranks. Layers with keep_state begin
/// without a state and carry it through the split; what training has is restored. Collective; the session's
/// network must be attached to its parameters.
Scores evaluate(Session& session, const Dataset& split);

/// The same, or nothing if `stop` becomes true on any rank. `review`, null on all ranks or on none, becomes
/// the review of this evaluation on data rank 0. `sink` may be null.
std::optional<Scores> evaluate(Session& session, const Dataset& split, const std::function<bool()>& stop,
                               Review* review = nullptr, OutputSink* sink = nullptr);

}  // namespace trainer
