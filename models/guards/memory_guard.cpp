#include "models/guards/memory_guard.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "engine/math/checksum.h"

namespace trainer {

MemoryGuard::MemoryGuard(std::span<const std::span<Segment>> groups, Facts facts)
    : groups_(groups),
      facts_(std::move(facts)),
      arrays_(1 + facts_.states.size()),
      sums_(groups.size() * arrays_) {
  if (arrays_ > UpdateSums::kMost) throw std::logic_error("more states than an update can tell of");
}

std::uint32_t MemoryGuard::sum_now(std::size_t group, std::size_t array) const {
  std::uint32_t sum = 0;
  for (const Segment& segment : groups_[group])
    sum ^= bit_sum(array == 0 ? segment.values : segment.states[array - 1]);
  return sum;
}

void MemoryGuard::note(std::size_t group) {
  for (std::size_t array = 0; array < arrays_; ++array) sum(group, array) = sum_now(group, array);
}

void MemoryGuard::check(std::size_t group, std::int64_t step) const {
  for (std::size_t array = 0; array < arrays_; ++array)
    if (sum_now(group, array) != sums_[group * arrays_ + array]) fail(group, array, step);
}

void MemoryGuard::take(std::size_t group, const UpdateSums& sums, std::int64_t step) {
  for (std::uint32_t left = sums.told; left != 0; left &= left - 1) {
    const auto array = static_cast<std::size_t>(std::countr_zero(left));
    if (sums.before[array].total() != sum(group, array)) fail(group, array, step);
    sum(group, array) = sums.after[array].total();
  }
}

void MemoryGuard::fail(std::size_t group, std::size_t array, std::int64_t step) const {
  const int index = groups_[group].front().parameter;
  const Parameter& parameter = facts_.parameters[static_cast<std::size_t>(index)];
  const std::string what =
      array == 0 ? parameter.name : fmt::format("{} of {}", facts_.states[array - 1], parameter.name);
  throw Error(ExitCode::diverged,
              {Diagnostic{.what = fmt::format("{} changed in memory without an update, after step {} ({})",
                                              what, step, facts_.place),
                          .notes = {"a bit flipped, or something wrote where it must not"},
                          .help = "test that host's memory; go on from the last checkpoint, without it"}});
}

}  // namespace trainer
