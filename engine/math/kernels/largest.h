#pragma once

#include <cstdint>

#include "engine/math/kernels/vector.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// The bits of the largest magnitude. Finds it in several vectors, so that loads do not wait for each other.
class Largest {
 public:
  [[gnu::always_inline]] void add(std::int64_t count, const float* x) {
    for (; count >= kFloats; count -= kFloats, x += kFloats) add_vectors(x);
    for (; count > 0; --count, ++x) add_one(*x);
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

  void add_vectors(const float* x) {
    for (int v = 0; v < kVectors; ++v) {
      Integers bits;
      __builtin_memcpy(&bits, x + v * kLanes, sizeof bits);
      bits &= 0x7fffffff;
      lanes_[v] = lanes_[v] > bits ? lanes_[v] : bits;
    }
  }
  void add_one(float x) {
    const std::int32_t bits = __builtin_bit_cast(std::int32_t, x) & 0x7fffffff;
    rest_ = rest_ > bits ? rest_ : bits;
  }

  Integers lanes_[kVectors] = {};
  std::int32_t rest_ = 0;
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
