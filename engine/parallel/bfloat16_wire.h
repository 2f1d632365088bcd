#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/bfloat16.h"
#include "engine/core/memory_ledger.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// Collectives of floats that travel as bfloat16, with half the bytes. What a rank sends to itself is rounded
/// as well, so that no result depends on who receives it. Sums are of float32. Arguments must stay until the
/// request is complete, and this object, too.
class Bfloat16Wire {
 public:
  explicit Bfloat16Wire(Communicator& ranks) : ranks_(ranks) {}

  /// Communicator::start_reduce_scatter(), with the sums in the order of the ranks.
  std::unique_ptr<Request> start_reduce_scatter(std::span<float> values,
                                                std::span<const std::int64_t> counts);
  /// Communicator::start_all_to_all().
  std::unique_ptr<Request> start_all_to_all(std::span<const float> out,
                                            std::span<const std::int64_t> counts_out, std::span<float> in,
                                            std::span<const std::int64_t> counts_in);
  /// Adds to each other rank's part of `values` the `changes` that this rank gives; they must be values of
  /// bfloat16. `counts`: the sizes of the parts, by rank. A rank's own part stays as it is.
  std::unique_ptr<Request> start_all_gather_changes(std::span<const float> changes, std::span<float> values,
                                                    std::span<const std::int64_t> counts);

 private:
  class Exchange;
  using Buffer = std::vector<Bfloat16, CountedAllocator<Bfloat16, MemoryKind::messages>>;

  Communicator& ranks_;
  std::vector<Buffer> spare_;  ///< so that repeated steps allocate no large memory
};

}  // namespace trainer
