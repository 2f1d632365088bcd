#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/parallel/compression.h"
#include "engine/parallel/sharding.h"
#include "models/planning/placed_parameters.h"

namespace trainer {

/// The memory of a rank by kind, and of a host, in bytes.
struct MemoryPlan {
  struct Part {
    std::string kind;
    std::int64_t bytes = 0;    ///< of one rank, or of the block that ranks share
    int sharers = 1;           ///< ranks that share the block
    std::int64_t on_host = 0;  ///< of all ranks of the host, shared blocks counted once
  };
  std::vector<Part> parts;

  std::int64_t of_host() const;
  /// Of one rank, without what it shares.
  std::int64_t of_rank() const;
};

/// What a plan of memory depends on besides the network.
struct MemoryNeeds {
  int ranks_per_host = 1;
  Compression compression = {};
  Sharding sharding = Sharding::state;  ///< others: each rank is a node of its own
  int saved_arrays = 0;                 ///< arrays of the optimizer shard in checkpoints: states, EMA
  bool keeps_gradients = false;         ///< those of earlier micro-batches
  bool is_local = false;                ///< with error feedback virtual workers send arrays, not ranks
  std::int64_t optimizer_scratch = 0;   ///< floats of an update of matrices
  std::int64_t samples = 0;             ///< bytes of the samples that the ranks of a host share
  bool saves = false;                   ///< checkpoints are written: their copy stays until it is on disk
  std::int64_t program = 0;             ///< bytes of a process besides the parts above
};

/// `network`, `parameters`: as a rank builds them.
MemoryPlan memory_plan(const Network& network, const std::vector<PlacedParameters>& parameters,
                       const MemoryNeeds& needs);

}  // namespace trainer
