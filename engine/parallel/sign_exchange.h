#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "engine/core/range.h"
#include "engine/parallel/communicator.h"
#include "engine/parallel/compressed_parameter.h"
#include "engine/parallel/sign_code.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// Sums arrays of all ranks, as large as the flat parameters, of which one bit of each value travels. A rank
/// sends its codes to all others, and all add the same in the order of the ranks.
class SignExchange {
 public:
  /// `arrays`: how many each rank adds to the sum.
  SignExchange(Communicator& ranks, ThreadPool& pool, const std::vector<CompressedParameter>& parameters,
               const std::vector<std::int64_t>& arrays);

  /// Takes the values of this rank's array `index`, and leaves in `residual` what their code lacks.
  void encode(std::size_t index, std::span<const float> values, std::span<float> residual);
  /// Collective, when each array of this rank is encoded: the sum of what all ranks know of all arrays.
  void sum(std::span<float> sums);

 private:
  /// work(block, range of floats) for each block, on all threads.
  template <class Work>
  void for_each_block(Work work);

  Communicator& ranks_;
  ThreadPool& pool_;
  std::vector<Range> blocks_;        ///< floats of the flat parameters; none holds two parameters
  std::vector<std::int64_t> bytes_;  ///< of the codes of each rank
  std::vector<SignBlock, CountedAllocator<SignBlock, MemoryKind::messages>> own_,
      all_;  ///< of this rank; of all ranks; array by array
};

}  // namespace trainer
