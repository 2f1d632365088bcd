#pragma once

#include "engine/parallel/feedback_reducer.h"
#include "engine/parallel/sign_code.h"

namespace trainer {

/// 1-bit SGD (Seide et al., Interspeech 2014): each rank sends one bit for each gradient to the rank that
/// adds it, which sends one bit of the sum to all. Both leave a residual: of the sum, on the rank that adds.
class SignReducer final : public FeedbackReducer {
 public:
  SignReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
              const std::vector<CompressedParameter>& parameters);

 private:
  void exchange(std::span<float> sums, std::span<float> residual) override;
  /// The blocks that a rank adds.
  Range range_of(int rank) const;

  std::vector<Range> blocks_;  ///< floats of the flat buffer; none holds two parameters
  std::vector<SignBlock> own_, received_, all_;
};

}  // namespace trainer
