#include "engine/parallel/sign_reducer.h"

#include "engine/core/index.h"

namespace trainer {

SignReducer::SignReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                         const std::vector<CompressedParameter>& parameters)
    : FeedbackReducer(mesh, pool, window, parameters),
      exchange_(ranks_, pool, parameters, std::vector<std::int64_t>(at(ranks_.size()), 1)) {}

void SignReducer::exchange(std::span<float> sums, std::span<float> residual) {
  exchange_.encode(0, sums, residual);
  exchange_.sum(sums);
}

}  // namespace trainer
