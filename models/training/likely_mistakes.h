#pragma once

#include <vector>

#include "engine/core/error.h"
#include "models/training/session.h"

namespace trainer {

/// What a valid configuration probably does not mean: an activation that the loss does not expect, a very
/// high learning rate, a batch larger than the training set, adapters of untrained weights. `has_weights`:
/// the run begins with weights that `root` does not name.
std::vector<Diagnostic> likely_mistakes(const Config& root, const Session& session, bool has_weights = false);

/// "warning: ...", otherwise as Diagnostic::text().
std::string warning_text(const Diagnostic& diagnostic);

/// Error(usage) that names `targets: numbers` if the dataset reads numbers as classes.
void check_targets(const Config& root, const Data& data, const Loss& loss, const Shape& output);

}  // namespace trainer
