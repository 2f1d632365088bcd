#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "models/layers/parameter.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

/// Finds bits that flip in the memory of one rank between two updates: in the parameters that this rank
/// updates and in their optimizer states, which no other rank holds. Keeps a checksum of each array of each
/// piece. Code that changes a piece calls check() before and keep() after, while the piece is in the first
/// cache. Threads may call at the same time for different pieces.
class MemoryGuard {
 public:
  struct Facts {
    std::span<const Parameter> parameters;
    std::vector<std::string> states;  ///< names of the arrays in Segment::states
    std::string place;                ///< "rank 2 on host a"
  };
  /// The arrays of a piece: its values are array 0, state i is array i + 1. Range [first, last).
  struct Arrays {
    std::size_t first = 0, last = 0;
  };
  /// Each of the pieces needs a keep() of all arrays before its first check().
  MemoryGuard(std::size_t pieces, Facts facts);

  Arrays all() const { return {0, arrays_}; }
  void keep(std::size_t index, const Segment& piece, Arrays arrays);
  /// Error(diverged) names the first array that differs from its checksum of keep(); `step`: updates done.
  void check(std::size_t index, const Segment& piece, Arrays arrays, std::int64_t step) const;

 private:
  [[noreturn]] void fail(const Segment& piece, std::size_t array, std::int64_t step) const;

  Facts facts_;
  std::size_t arrays_;               ///< of a piece
  std::vector<std::uint32_t> kept_;  ///< by piece, then array
};

}  // namespace trainer
