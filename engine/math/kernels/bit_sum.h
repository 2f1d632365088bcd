#pragma once

#include <cstdint>

#include "engine/math/kernels/two_vectors.h"
#include "engine/math/updates.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Sums the bits of an array's numbers as a loop reads and writes them, if anybody wants to know. Without
/// carries, by exclusive or: in any order the same, and AVX-512 takes two vectors with one instruction.
template <bool wanted>
class BitSum {
 public:
  template <class Numbers>
  Numbers was(Numbers numbers) {
    if constexpr (wanted) {
      keep(numbers);
      before_.add(numbers);
    }
    return numbers;
  }
  template <class Numbers>
  Numbers becomes(Numbers numbers) {
    if constexpr (wanted) after_.add(numbers);
    return numbers;
  }
  std::uint32_t before() const {
    UpdateSums::Lanes lanes;
    before_.add_to(lanes);
    return lanes.total();
  }
  void tell(int array, UpdateSums* sums) const {
    if constexpr (wanted) {
      before_.add_to(sums->before[array]);
      after_.add_to(sums->after[array]);
      sums->told |= 1U << array;
    }
  }

 private:
  typedef std::uint32_t Words __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
  struct Sum {
    Words lanes = {};
    std::uint32_t rest = 0;

    void add(float number) { rest ^= __builtin_bit_cast(std::uint32_t, number); }
    void add(const Two& numbers) { lanes ^= (Words)numbers.a ^ (Words)numbers.b; }
    void add_to(UpdateSums::Lanes& total) const {
      static_assert(kLanes <= UpdateSums::kLanes);
      Words sum;
      __builtin_memcpy(&sum, total.parts, sizeof sum);
      sum ^= lanes;
      __builtin_memcpy(total.parts, &sum, sizeof sum);
      total.parts[0] ^= rest;
    }
  };
  Sum before_, after_;
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
