#include "engine/core/bfloat16.h"

#include <stdexcept>

namespace trainer {
namespace {

void check_sizes(std::size_t one, std::size_t other) {
  if (one != other) throw std::logic_error("arrays of bfloat16 and of float differ in size");
}

// In functions of their own, whose arguments do not overlap: the compiler makes vector code of them.
void narrow(std::size_t count, const float* __restrict from, Bfloat16* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_bfloat16(from[i]);
}
void widen(std::size_t count, const Bfloat16* __restrict from, float* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}
void accumulate(std::size_t count, const Bfloat16* __restrict from, float* __restrict to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += to_float(from[i]);
}
void round_difference(std::size_t count, const float* __restrict before, float* __restrict values,
                      float* __restrict changes) {
  for (std::size_t i = 0; i < count; ++i) {
    const float change = rounded_to_bfloat16(values[i] - before[i]);
    changes[i] = change;
    values[i] = before[i] + change;
  }
}

}  // namespace

void to_bfloat16(std::span<const float> from, std::span<Bfloat16> to) {
  check_sizes(from.size(), to.size());
  narrow(from.size(), from.data(), to.data());
}

void to_float(std::span<const Bfloat16> from, std::span<float> to) {
  check_sizes(from.size(), to.size());
  widen(from.size(), from.data(), to.data());
}

void add(std::span<const Bfloat16> from, std::span<float> to) {
  check_sizes(from.size(), to.size());
  accumulate(from.size(), from.data(), to.data());
}

void round_to_bfloat16(std::span<float> values) {
  for (float& value : values) value = rounded_to_bfloat16(value);
}

void round_changes(std::span<const float> before, std::span<float> values, std::span<float> changes) {
  check_sizes(before.size(), values.size());
  check_sizes(before.size(), changes.size());
  round_difference(before.size(), before.data(), values.data(), changes.data());
}

}  // namespace trainer
