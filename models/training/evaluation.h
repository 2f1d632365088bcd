#pragma once

#include "models/training/session.h"

namespace trainer {

/// Scores over a whole split, every sample exactly once, the same on all ranks. Collective; the session's
/// network must be attached to its parameters.
Scores evaluate(Session& session, const Dataset& split);

}  // namespace trainer
