#pragma once

#include <functional>
#include <optional>

#include "models/training/session.h"

namespace trainer {

/// Scores over a whole split, every sample exactly once, the same on all ranks. Collective; the session's
/// network must be attached to its parameters.
Scores evaluate(Session& session, const Dataset& split);

/// The same, but nothing once `stop` was true on any rank: all ranks ask one another now and then.
std::optional<Scores> evaluate(Session& session, const Dataset& split, const std::function<bool()>& stop);

}  // namespace trainer
