#pragma once

#include <cstdint>

#include "engine/math/updates.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Adds up the bits of an array's numbers as a loop reads and writes them, if anybody wants to know: whole
/// numbers, so that the compiler may take them in any order.
template <bool wanted>
struct BitSum {
  std::uint32_t before = 0, after = 0;

  float was(float number) {
    if constexpr (wanted) before += __builtin_bit_cast(std::uint32_t, number);
    return number;
  }
  float becomes(float number) {
    if constexpr (wanted) after += __builtin_bit_cast(std::uint32_t, number);
    return number;
  }
  void tell(int array, UpdateSums* sums) const {
    if constexpr (wanted) {
      sums->before[array] = before;
      sums->after[array] = after;
      sums->told |= 1U << array;
    }
  }
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
