// Plain loops over rows with a block of channels in registers; see elementwise.cpp about their bits.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/sixteen.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// About the first row, so that a large mean costs no digits. Two loops: the compiler makes scalars of one.
void channel_moments(std::int64_t rows, std::int64_t channels, const float* x, double* sums,
                     double* squares) {
  for_each_column_block(channels, [=](std::int64_t first, auto width) {
    double totals[kColumnBlock] = {}, square_totals[kColumnBlock] = {};
    for (std::int64_t row = 1; row < rows; ++row) {
      const float* from = x + row * channels + first;
      for (std::int64_t c = 0; c < width; ++c) totals[c] += static_cast<double>(from[c] - x[first + c]);
      for (std::int64_t c = 0; c < width; ++c) {
        const double distance = static_cast<double>(from[c] - x[first + c]);
        square_totals[c] += distance * distance;
      }
    }
    const auto count = static_cast<double>(rows);
    for (std::int64_t c = 0; c < width; ++c) {
      const double origin = rows > 0 ? static_cast<double>(x[first + c]) : 0, sum = totals[c];
      sums[first + c] = sum + count * origin;
      squares[first + c] = square_totals[c] + origin * (2 * sum + count * origin);
    }
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
      const float* gradient = dy + row * channels + first;
      for (std::int64_t c = 0; c < width; ++c) {
        const double here = static_cast<double>(gradient[c]);
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

void layer_norm(std::int64_t rows, std::int64_t columns, const float* x, const float* weight,
                const float* bias, float epsilon, float* y, float* mean, float* inverse_deviation) {
  const float share = 1.0f / static_cast<float>(columns);
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const float middle = mean ? row_sum(columns, x) * share : 0.0f;
    Sixteen squares = {};
    for_each_sixteen(columns, [&squares, x, middle](const Neighbours& here) {
      const Sixteen distance = here.of(x, middle) - middle;
      squares += distance * distance;
    });
    const float variance = share * sum_of(squares);
    const float factor = 1.0f / __builtin_sqrtf(variance + epsilon);
    if (mean) mean[row] = middle;
    inverse_deviation[row] = factor;
    if (bias)
      for_each(columns, [=](std::int64_t i) { y[i] = (x[i] - middle) * factor * weight[i] + bias[i]; });
    else
      for_each(columns, [=](std::int64_t i) { y[i] = (x[i] - middle) * factor * weight[i]; });
  }
}

void layer_norm_gradients(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                          const float* mean, const float* inverse_deviation, float* dweight, float* dbias) {
  constexpr std::int64_t kRowBlock = 128;  // few enough for float, the rest is added up in double
  // A branch among the rows would keep the sums out of registers: without means, each row reads one zero.
  static constexpr float kNoMean = 0.0f;
  const float* const means = mean ? mean : &kNoMean;
  const std::int64_t mean_stride = mean ? 1 : 0;
  for_each_column_block(columns, [=](std::int64_t first, auto width) {
    double weights[kColumnBlock] = {}, biases[kColumnBlock] = {};
    for (std::int64_t begin = 0; begin < rows; begin += kRowBlock) {
      const std::int64_t end = rows - begin < kRowBlock ? rows : begin + kRowBlock;
      float partial_weights[kColumnBlock] = {}, partial_biases[kColumnBlock] = {};
      for (std::int64_t row = begin; row < end; ++row) {
        const float* from = x + row * columns + first;
        const float* gradient = dy + row * columns + first;
        const float middle = means[row * mean_stride], factor = inverse_deviation[row];
        for (std::int64_t c = 0; c < width; ++c) {
          partial_biases[c] += gradient[c];
          partial_weights[c] += gradient[c] * ((from[c] - middle) * factor);
        }
      }
      for (std::int64_t c = 0; c < width; ++c) {
        weights[c] += static_cast<double>(partial_weights[c]);
        biases[c] += static_cast<double>(partial_biases[c]);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) dweight[first + c] = static_cast<float>(weights[c]);
    if (dbias)
      for (std::int64_t c = 0; c < width; ++c) dbias[first + c] = static_cast<float>(biases[c]);
  });
}

void layer_norm_backward(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                         const float* mean, const float* inverse_deviation, const float* weight, float* dx) {
  const float share = 1.0f / static_cast<float>(columns);
  for (std::int64_t row = 0; row < rows; ++row, x += columns, dy += columns, dx += columns) {
    const float middle = mean ? mean[row] : 0.0f, factor = inverse_deviation[row];
    Sixteen sums = {}, dots = {};
    for_each_sixteen(columns, [=, &sums, &dots](const Neighbours& here) {
      const Sixteen gradient = here.of(dy, 0.0f) * here.of(weight, 0.0f);
      sums += gradient;
      dots += gradient * ((here.of(x, 0.0f) - middle) * factor);
    });
    const float sum = mean ? sum_of(sums) : 0.0f, dot = sum_of(dots);
    const float of_one = -share * sum * factor, of_x = -share * dot * factor * factor;
    for_each(columns, [=](std::int64_t i) {
      dx[i] = (dy[i] * weight[i]) * factor + ((x[i] - middle) * of_x + of_one);
    });
  }
}

}  // namespace

extern const NormalizationKernels normalization_kernels;
const NormalizationKernels normalization_kernels = {channel_moments,    channel_affine, backward_sums,
                                                    backward,           layer_norm,     layer_norm_gradients,
                                                    layer_norm_backward};

}  // namespace trainer::KERNEL_NAMESPACE
