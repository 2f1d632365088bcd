#include "models/training/memory_guard.h"

#include <fmt/format.h>

#include "engine/math/checksum.h"

namespace trainer {
namespace {

std::uint32_t sum_of(const Segment& piece, std::size_t array) {
  return bit_sum(array == 0 ? piece.values : piece.states[array - 1]);
}

}  // namespace

MemoryGuard::MemoryGuard(std::size_t pieces, Facts facts)
    : facts_(std::move(facts)), arrays_(1 + facts_.states.size()), kept_(pieces * arrays_) {}

void MemoryGuard::keep(std::size_t index, const Segment& piece, Arrays arrays) {
  for (std::size_t array = arrays.first; array < arrays.last; ++array)
    kept_[index * arrays_ + array] = sum_of(piece, array);
}

void MemoryGuard::check(std::size_t index, const Segment& piece, Arrays arrays, std::int64_t step) const {
  for (std::size_t array = arrays.first; array < arrays.last; ++array)
    if (sum_of(piece, array) != kept_[index * arrays_ + array]) fail(piece, array, step);
}

void MemoryGuard::fail(const Segment& piece, std::size_t array, std::int64_t step) const {
  const Parameter& parameter = facts_.parameters[static_cast<std::size_t>(piece.parameter)];
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
