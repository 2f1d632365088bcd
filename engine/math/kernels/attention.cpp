// Softmax of attention scores, of which a row may see only the first; see elementwise.cpp about their bits.

#include "engine/math/kernels/exponential.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/sixteen.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

inline std::int64_t visible_in(const ScoreRows& scores, std::int64_t row) {
  return scores.visible + row * scores.more_visible;
}

/// Puts the first score behind those that are seen, and gives a number of them that is whole vectors where
/// the row is long enough: a loop's rest takes as long as several vectors.
inline std::int64_t rounded_up(const ScoreRows& scores, std::int64_t seen, float* x) {
  const std::int64_t whole = (seen + 15) / 16 * 16;
  const std::int64_t count = whole < scores.columns ? whole : scores.columns;
  for (std::int64_t i = seen; i < count; ++i) x[i] = x[0];
  return count;
}

void softmax(const ScoreRows& scores, float* x, float* peaks, float* inverse_sums) {
  const float scale = scores.scale;
  for (std::int64_t row = 0; row < scores.rows; ++row, x += scores.step) {
    const std::int64_t seen = visible_in(scores, row), count = rounded_up(scores, seen, x);
    const float peak = largest_of(count, x);
    for_each(count, [=](std::int64_t i) { x[i] = exponential((x[i] - peak) * scale); });
    for (std::int64_t i = seen; i < scores.columns; ++i) x[i] = 0.0f;
    const float factor = 1.0f / row_sum(count, x);
    for_each(count, [=](std::int64_t i) { x[i] *= factor; });
    peaks[row] = peak;
    inverse_sums[row] = factor;
  }
}

void softmax_backward(const ScoreRows& scores, const float* peaks, const float* inverse_sums,
                      const float* dots, float* x, float* slopes) {
  const float scale = scores.scale;
  for (std::int64_t row = 0; row < scores.rows; ++row, x += scores.step, slopes += scores.step) {
    const std::int64_t seen = visible_in(scores, row), count = rounded_up(scores, seen, x);
    const float peak = peaks[row], factor = inverse_sums[row], dot = dots[row];
    for_each(count, [=](std::int64_t i) {
      const float share = exponential((x[i] - peak) * scale) * factor;
      x[i] = share;
      slopes[i] = share * (slopes[i] - dot) * scale;
    });
    for (std::int64_t i = seen; i < scores.columns; ++i) x[i] = slopes[i] = 0.0f;
  }
}

void row_dots(std::int64_t rows, std::int64_t columns, std::int64_t step, const float* a, const float* b,
              float* dots) {
  for (std::int64_t row = 0; row < rows; ++row, a += step, b += step) {
    Sixteen sums = {};
    for_each_sixteen(columns,
                     [&sums, a, b](const Neighbours& here) { sums += here.of(a, 0.0f) * here.of(b, 0.0f); });
    dots[row] = sum_of(sums);
  }
}

}  // namespace

extern const AttentionKernels attention_kernels;
const AttentionKernels attention_kernels = {softmax, softmax_backward, row_dots};

}  // namespace trainer::KERNEL_NAMESPACE
