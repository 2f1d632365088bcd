#pragma once

#include "engine/parallel/feedback_reducer.h"
#include "engine/parallel/low_rank.h"

namespace trainer {

/// PowerSGD (Vogels et al. 2019, arXiv:1905.13727, algorithms 1 and 2): one power iteration a step, from the
/// factor of the step before, finds a matrix of low rank near the sum of all gradients. Ranks add its two
/// factors, and never the matrix. The rest of a rank's gradient, (1 - P P') M, stays as its residual.
/// Parameters that are no matrix are added in float32.
class LowRankReducer final : public FeedbackReducer {
 public:
  /// The factors of `parameters` outlive this object.
  LowRankReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                 const std::vector<CompressedParameter>& parameters);

 private:
  struct Matrix {
    LowRankShape shape;
    Range range;
    std::span<float> q;                ///< kept from step to step
    std::span<float> p, sum_q, own_q;  ///< of the step
    std::uint64_t seed = 0;
  };
  void exchange(std::span<float> sums, std::span<float> residual) override;
  /// work(matrix, part, parts) of all matrices, on all threads.
  template <class Work>
  void for_each_part(Work work);

  std::vector<Matrix> matrices_;
  std::vector<Range> others_;
  Arena first_message_, second_message_, own_;  ///< all P and the other parameters; all Q; Q of this rank
};

}  // namespace trainer
