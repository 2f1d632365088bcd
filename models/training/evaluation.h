#pragma once

#include "models/training/session.h"

namespace trainer {

/// Scores over a whole split, every sample exactly once, the same on all ranks. Collective; the session's
/// network must be attached to its parameters. `batch`: rows of a global batch.
Scores evaluate(Session& session, const Dataset& split, std::int64_t batch);

}  // namespace trainer
