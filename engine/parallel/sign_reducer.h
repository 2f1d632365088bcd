#pragma once

#include "engine/parallel/feedback_reducer.h"
#include "engine/parallel/sign_exchange.h"

namespace trainer {

/// 1-bit SGD with error feedback (Seide et al., Interspeech 2014; EF-signSGD, Karimireddy et al. 2019,
/// arXiv:1901.09847): each rank sends one bit for each gradient to all others, and all add the same in the
/// order of the ranks. Sums are not compressed again, which would need small learning rates, so the bytes of
/// a rank grow with their number.
class SignReducer final : public FeedbackReducer {
 public:
  SignReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
              const std::vector<CompressedParameter>& parameters);

 private:
  void exchange(std::span<float> sums, std::span<float> residual) override;

  SignExchange exchange_;
};

}  // namespace trainer
