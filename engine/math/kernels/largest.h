#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// The bits of the largest magnitude. Finds it in several vectors, so that loads do not wait for each other.
class Largest {
 public:
  [[gnu::always_inline]] void add(std::int64_t count, const float* x) {
    for (; count >= kFloats; count -= kFloats, x += kFloats)
      for (int v = 0; v < kVectors; ++v) {
        Integers vector;
        __builtin_memcpy(&vector, x + v * kLanes, sizeof vector);
        add(v, vector);
      }
    for (; count > 0; --count, ++x) add_one(*x);
  }

  /// Adds a vector; `index` counts them.
  [[gnu::always_inline]] void add(int index, const Integers& vector) {
    const Integers bits = vector & 0x7fffffff;
    Integers& lanes = lanes_[index % kVectors];
    lanes = lanes > bits ? lanes : bits;
  }

  std::uint32_t bits() const {
    Integers all = lanes_[0];
    for (const Integers& lanes : lanes_) all = all > lanes ? all : lanes;
    std::int32_t largest = rest_;
    for (int lane = 0; lane < kLanes; ++lane) largest = largest > all[lane] ? largest : all[lane];
    return static_cast<std::uint32_t>(largest);
  }

 private:
  static constexpr int kVectors = 4, kFloats = kVectors * kLanes;

  void add_one(float x) {
    const std::int32_t bits = __builtin_bit_cast(std::int32_t, x) & 0x7fffffff;
    rest_ = rest_ > bits ? rest_ : bits;
  }

  Integers lanes_[kVectors] = {};
  std::int32_t rest_ = 0;
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
