#include "models/training/memory_guard.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/math/checksum.h"

namespace trainer {

MemoryGuard::MemoryGuard(std::span<const Segment> segments, Facts facts)
    : segments_(segments),
      facts_(std::move(facts)),
      arrays_(1 + facts_.states.size()),
      kept_(segments.size() * arrays_) {
  if (arrays_ > kMaxArrays) throw std::logic_error("a segment has more arrays than the memory guard keeps");
}

MemoryGuard::Sums MemoryGuard::sums_now(std::size_t segment, Arrays arrays) const {
  const Segment& memory = segments_[segment];
  std::array<const float*, kMaxArrays> starts{};
  for (std::size_t array = arrays.first; array < arrays.last; ++array)
    starts[array - arrays.first] = (array == 0 ? memory.values : memory.states[array - 1]).data();
  Sums sums{};
  bit_sums(std::ssize(memory.values), std::span(starts).first(arrays.last - arrays.first), sums);
  return sums;
}

void MemoryGuard::keep(std::size_t segment, Arrays arrays) {
  const Sums now = sums_now(segment, arrays);
  for (std::size_t array = arrays.first; array < arrays.last; ++array)
    kept_[segment * arrays_ + array] = now[array - arrays.first];
}

void MemoryGuard::check(std::size_t segment, Arrays arrays, std::int64_t step) const {
  const Sums now = sums_now(segment, arrays);
  for (std::size_t array = arrays.first; array < arrays.last; ++array)
    if (now[array - arrays.first] != kept_[segment * arrays_ + array]) fail(segment, array, step);
}

void MemoryGuard::fail(std::size_t segment, std::size_t array, std::int64_t step) const {
  const Parameter& parameter = facts_.parameters[static_cast<std::size_t>(segments_[segment].parameter)];
  const std::string what =
      array == 0 ? parameter.name : fmt::format("{} of {}", facts_.states[array - 1], parameter.name);
  throw Error(
      ExitCode::diverged,
      {Diagnostic{.what = fmt::format("{} changed in memory without an update, after step {} ({})", what,
                                      step, facts_.place),
                  .notes = {"a bit flipped, or something wrote where it must not"},
                  .help = "test the memory of that host; resume from the last checkpoint, without it"}});
}

}  // namespace trainer
