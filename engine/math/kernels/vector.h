#pragma once

#include <cstdint>

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kLanes = KERNEL_LANES;

/// As many floats as a register holds, and integers and bytes to go with them.
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef std::int32_t Integers __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
typedef std::uint8_t Bytes __attribute__((vector_size(kLanes)));

typedef float LooseVector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef std::uint8_t LooseBytes __attribute__((vector_size(kLanes), aligned(1), may_alias));

inline Vector load(const float* from) { return *reinterpret_cast<const LooseVector*>(from); }
inline void store(const Vector& vector, float* to) { *reinterpret_cast<LooseVector*>(to) = vector; }

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
