#pragma once

#include <span>
#include <vector>

#include "engine/parallel/parameter_window.h"

namespace trainer {

/// All-reduce of a few scalars over the data ranks, in the order of the ranks: the same bits on every rank.
/// Makes no MPI call where all ranks share one window.
class AllReduce {
 public:
  /// `other`: a second window with parameters that barrier() covers, too; may be null.
  AllReduce(Mesh& mesh, ParameterWindow& window, ParameterWindow* other = nullptr);

  /// Adds `scalars` over all data ranks; of the last `maxima` of them takes the largest. No rank returns
  /// before all ranks have called it.
  void sum(std::span<double> scalars, std::size_t maxima = 0);
  /// No rank returns before all ranks that share memory of parameters with it have called it.
  void barrier();

 private:
  void exchange(std::size_t count);
  void collect_rows(std::size_t count);

  Communicator& data_;
  ParameterWindow& memory_;
  ParameterWindow* other_;
  std::vector<double> rows_;  ///< of all data ranks
  int table_ = 0;
};

}  // namespace trainer
