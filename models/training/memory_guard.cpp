#include "models/training/memory_guard.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "engine/math/checksum.h"

namespace trainer {

MemoryGuard::MemoryGuard(std::span<const Segment> segments, Facts facts)
    : segments_(segments),
      facts_(std::move(facts)),
      arrays_(1 + facts_.states.size()),
      sums_(segments.size() * arrays_) {
  if (arrays_ > UpdateSums::kMost) throw std::logic_error("more states than an update can tell of");
}

std::span<const float> MemoryGuard::numbers(std::size_t segment, std::size_t array) const {
  const Segment& chosen = segments_[segment];
  return array == 0 ? chosen.values : chosen.states[array - 1];
}

void MemoryGuard::note(std::size_t segment) {
  for (std::size_t array = 0; array < arrays_; ++array)
    sum(segment, array) = bit_sum(numbers(segment, array));
}

void MemoryGuard::check(std::size_t segment, std::int64_t step) const {
  for (std::size_t array = 0; array < arrays_; ++array)
    if (bit_sum(numbers(segment, array)) != sums_[segment * arrays_ + array]) fail(segment, array, step);
}

void MemoryGuard::take(std::size_t segment, const UpdateSums& sums, std::int64_t step) {
  for (std::uint32_t left = sums.told; left != 0; left &= left - 1) {
    const auto array = static_cast<std::size_t>(std::countr_zero(left));
    if (sums.before[array] != sum(segment, array)) fail(segment, array, step);
    sum(segment, array) = sums.after[array];
  }
}

void MemoryGuard::fail(std::size_t segment, std::size_t array, std::int64_t step) const {
  const Parameter& parameter = facts_.parameters[static_cast<std::size_t>(segments_[segment].parameter)];
  const std::string what =
      array == 0 ? parameter.name : fmt::format("{} of {}", facts_.states[array - 1], parameter.name);
  throw Error(ExitCode::diverged,
              {Diagnostic{.what = fmt::format("{} changed in memory without an update, after step {} ({})",
                                              what, step, facts_.place),
                          .notes = {"a bit flipped, or something wrote where it must not"},
                          .help = "test that host's memory; go on from the last checkpoint, without it"}});
}

}  // namespace trainer
