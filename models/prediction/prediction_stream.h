#pragma once

#include <functional>
#include <span>

#include "engine/parallel/communicator.h"
#include "engine/system/thread_pool.h"
#include "models/prediction/predictor.h"

namespace trainer {

/// Predicts all samples of a source on the workers of all ranks, and gives the predictions to `take` on rank
/// 0, in the order of the source and as soon as they are known. A sample has the same prediction on any
/// number of ranks and workers. `source` and `take` matter on rank 0 only, which alone reads the inputs and
/// throws what they throw. Collective.
void predict_all(Predictor& predictor, SampleSource* source, ThreadPool& pool, Communicator& world,
                 const std::function<void(std::span<const Prediction>)>& take);

}  // namespace trainer
