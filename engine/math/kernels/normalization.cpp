// Plain loops over rows with a block of channels in registers; see elementwise.cpp about their bits.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

void channel_sums(std::int64_t rows, std::int64_t channels, const float* x, double* sums) {
  for_each_column_block(channels, [=](std::int64_t first, auto width) {
    double totals[kColumnBlock] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x + row * channels + first;
      for (std::int64_t c = 0; c < width; ++c) totals[c] += static_cast<double>(from[c]);
    }
    for (std::int64_t c = 0; c < width; ++c) sums[first + c] = totals[c];
  });
}

void channel_squares(std::int64_t rows, std::int64_t channels, const float* x, const float* mean,
                     double* squares) {
  for_each_column_block(channels, [=](std::int64_t first, auto width) {
    double totals[kColumnBlock] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x + row * channels + first;
      for (std::int64_t c = 0; c < width; ++c) {
        const double distance = static_cast<double>(from[c] - mean[first + c]);
        totals[c] += distance * distance;
      }
    }
    for (std::int64_t c = 0; c < width; ++c) squares[first + c] = totals[c];
  });
}

void channel_affine(std::int64_t rows, std::int64_t channels, const float* x, const float* scale,
                    const float* shift, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += channels, y += channels)
    for_each(channels, [=](std::int64_t c) { y[c] = x[c] * scale[c] + shift[c]; });
}

void backward_sums(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                   const float* mean, double* dy_sums, double* dot_sums) {
  for_each_column_block(channels, [=](std::int64_t first, auto width) {
    double totals[kColumnBlock] = {}, dots[kColumnBlock] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x + row * channels + first;
      const float* slope = dy + row * channels + first;
      for (std::int64_t c = 0; c < width; ++c) {
        const double here = static_cast<double>(slope[c]);
        totals[c] += here;
        dots[c] += here * static_cast<double>(from[c] - mean[first + c]);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) {
      dy_sums[first + c] = totals[c];
      dot_sums[first + c] = dots[c];
    }
  });
}

void backward(std::int64_t rows, std::int64_t channels, const float* x, const float* dy, const float* mean,
              const float* a, const float* b, const float* d, float* dx) {
  for (std::int64_t row = 0; row < rows; ++row, x += channels, dy += channels, dx += channels)
    for_each(channels, [=](std::int64_t c) { dx[c] = (a[c] * dy[c] + b[c] * (x[c] - mean[c])) + d[c]; });
}

}  // namespace

extern const NormalizationKernels normalization_kernels;
const NormalizationKernels normalization_kernels = {channel_sums, channel_squares, channel_affine,
                                                    backward_sums, backward};

}  // namespace trainer::KERNEL_NAMESPACE
