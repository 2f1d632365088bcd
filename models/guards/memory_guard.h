#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "models/network/plan.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

/// Watches numbers that only this rank may change: the values that it updates and the optimizer's states for
/// them. The checksum of a group of segments is remembered as its update has written it and compared with
/// what the next one has read. A bit that flips in between would otherwise spread to all ranks with the next
/// step.
class MemoryGuard {
 public:
  struct Facts {
    std::span<const Parameter> parameters;
    std::vector<std::string> states;  ///< the optimizer's names for them
    std::string place;                ///< "rank 2 on host a"
  };
  /// Groups of segments, each of one parameter. They stay where they are.
  MemoryGuard(std::span<const std::span<Segment>> groups, Facts facts);

  void note(std::size_t group);
  /// Error(diverged) names what has changed since note(); `step`: steps done.
  void check(std::size_t group, std::int64_t step) const;
  /// Both of the above for what the updates of a group have told; the rest stays as it is remembered.
  void take(std::size_t group, const UpdateSums& sums, std::int64_t step);

 private:
  std::uint32_t& sum(std::size_t group, std::size_t array) { return sums_[group * arrays_ + array]; }
  std::uint32_t sum_now(std::size_t group, std::size_t array) const;
  [[noreturn]] void fail(std::size_t group, std::size_t array, std::int64_t step) const;

  std::span<const std::span<Segment>> groups_;
  Facts facts_;
  std::size_t arrays_;               ///< of a segment: values, then each state
  std::vector<std::uint32_t> sums_;  ///< by group, then array
};

}  // namespace trainer
