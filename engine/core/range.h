#pragma once

#include <cstdint>

namespace trainer {

/// The indices first, first + 1, ... last - 1.
struct Range {
  std::int64_t first = 0, last = 0;
  constexpr std::int64_t count() const { return last - first; }
  bool operator==(const Range&) const = default;
};

/// Part `index` of `parts` nearly equal consecutive parts of n items.
constexpr Range part_of(std::int64_t n, std::int64_t index, std::int64_t parts) {
  return {n * index / parts, n * (index + 1) / parts};
}

/// Part `index` of `parts` nearly equal parts of a range.
constexpr Range part_of(const Range& whole, std::int64_t index, std::int64_t parts) {
  const Range part = part_of(whole.count(), index, parts);
  return {whole.first + part.first, whole.first + part.last};
}

}  // namespace trainer
