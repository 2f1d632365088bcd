#pragma once

#include "models/checkpoints/checkpoint_state.h"
#include "models/training/progress.h"

namespace trainer {

/// Copies the progress of a run into `state`; `pending`: evaluation or end of epoch of the last step is still
/// to be done.
void store(const Progress& run, bool pending, CheckpointState& state);

/// Resumes from `state`; `rate`: the learning rate of its last step.
void resume(Progress& run, const CheckpointState& state, double rate);

}  // namespace trainer
