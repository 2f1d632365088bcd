#pragma once

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/multiply_add.h"
#include "engine/math/kernels/vector.h"

// Convolutions keep tiles of sums in registers: some pixels (or taps) times one or two vectors of filters.

namespace trainer::KERNEL_NAMESPACE {
namespace {

// What fits into the registers beside weights and one input.
constexpr int kMaxVectors = 2;
constexpr int kMaxTile = KERNEL_REGISTERS == 32 ? 24 : KERNEL_LANES == 4 ? 8 : 12;

/// Calls body(vectors, first filter, filters) for each block; `vectors` is Fixed.
template <class Body>
inline void for_each_filter_block(std::int64_t filters, Body body) {
  for (std::int64_t first = 0; first < filters; first += kMaxVectors * kLanes) {
    const std::int64_t left = filters - first;
    if (left > kLanes)
      body(Fixed<2>{}, first, left < 2 * kLanes ? left : 2 * kLanes);
    else
      body(Fixed<1>{}, first, left);
  }
}

}  // namespace

// See ConvolutionKernels; these are of convolution_weights.cpp.
void add_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy, float* dw,
                  std::int64_t dw_tap);
bool has_sliding(std::int64_t columns, std::int64_t tap_columns, std::int64_t border, bool portable);
void add_sliding_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                          float* dw, std::int64_t dw_tap);

}  // namespace trainer::KERNEL_NAMESPACE
