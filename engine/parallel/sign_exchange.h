#pragma once

#include <cstddef>
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

/// Sums arrays of all ranks, as large as the flat parameters, of which one bit of each value travels, and
/// small parameters as they are. A rank sends its codes to all others, and all add the same in the order of
/// the ranks.
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
  /// The codes of some arrays, one after the other: blocks, then values that are sent as they are.
  using Codes = std::vector<std::byte, CountedAllocator<std::byte, MemoryKind::messages>>;

  std::int64_t bytes_of_array() const;
  std::span<SignBlock> blocks(Codes& codes, std::size_t array) const;
  std::span<float> values_as_they_are(Codes& codes, std::size_t array) const;
  /// work(block, range of floats) for each block, on all threads.
  template <class Work>
  void for_each_block(Work work);

  Communicator& ranks_;
  ThreadPool& pool_;
  std::vector<Range> blocks_;        ///< floats of the flat parameters; none holds two parameters
  std::vector<Range> in_float32_;    ///< parameters
  std::int64_t floats_ = 0;          ///< of in_float32_
  std::size_t arrays_ = 0;           ///< of all ranks
  std::vector<std::int64_t> bytes_;  ///< of the codes of each rank
  Codes own_, all_;                  ///< of this rank; of all ranks
};

}  // namespace trainer
