#pragma once

#include "engine/core/arena.h"
#include "engine/parallel/compressed_parameter.h"
#include "engine/parallel/node_reducer.h"

namespace trainer {

/// What all ranks know of a compressed sum is not the sum. Each rank keeps what it has not sent, and adds it
/// to its next gradient (error feedback; Seide et al., Interspeech 2014; Karimireddy et al. 2019,
/// arXiv:1901.09847), so that it is sent later. The compressed sum is the same on all ranks, and each of them
/// updates all parameters: no rank sends parameters. Every rank is a node of its own.
///
/// Parameters with a momentum: ranks code their gradients plus their share of the momentum that all of them
/// know (1-bit Adam, Tang et al. 2021, arXiv:2102.02888, algorithm 1). The sum without that momentum is one
/// of gradients again.
class FeedbackReducer : public NodeReducer {
 public:
  /// What `parameters` point to outlives this object.
  FeedbackReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                  const std::vector<CompressedParameter>& parameters);

  std::vector<Range> overwritten() const final { return {whole_}; }
  std::span<float> residual() final { return residual_.floats(); }
  void compress(bool compresses) final { compresses_ = compresses; }
  void measure_error(bool measures) final { measures_ = measures; }
  std::optional<double> compression_error() const final { return error_; }

 protected:
  /// `sums`: the gradients of this rank's workers, with what was not sent before. Leaves there what all ranks
  /// know of the sum over the ranks, and in `residual` what this rank has not sent.
  virtual void exchange(std::span<float> sums, std::span<float> residual) = 0;

  Communicator& ranks_;

 private:
  std::unique_ptr<Request> start_exchange(int bucket) final;
  void sum_received(int first, int last, ThreadPool* pool) final;

  /// work(sum, momentum) of all elements of parameters with a momentum, on all threads.
  template <class Work>
  void for_each_momentum(std::span<float> sums, Work work);

  Range whole_;
  Arena residual_;
  std::vector<CompressedParameter> momenta_;  ///< parameters that have one
  bool compresses_ = true, measures_ = false;
  std::optional<double> error_;
};

}  // namespace trainer
