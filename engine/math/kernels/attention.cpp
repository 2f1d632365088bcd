// Softmax of attention scores, of which a row may see only the first; see elementwise.cpp about their bits.

#include "engine/math/kernels/exponential.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"
#include "engine/math/kernels/sixteen.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// How many of the first queries do not see a key.
inline int hidden_from(const ScoreColumns& scores, std::int64_t key) {
  const std::int64_t hidden = key + 1 - scores.visible;
  return static_cast<int>(hidden < 0 ? 0 : hidden);
}

void softmax(const ScoreColumns& scores, float* x, float* peaks, float* inverse_sums) {
  constexpr std::int64_t kKeyBlock = 64;  // few enough to be added up one by one
  for_each_column_block(scores.queries, [=](std::int64_t first, auto width) {
    float largest[kColumnBlock], sums[kColumnBlock] = {};
    for (std::int64_t c = 0; c < width; ++c) largest[c] = -__builtin_inff();
    for (std::int64_t key = 0; key < scores.keys; ++key) {
      const float* const row = x + key * scores.step + first;
      const int hidden = hidden_from(scores, key) - static_cast<int>(first);
      for (int c = 0; c < static_cast<int>(width); ++c)
        largest[c] = c >= hidden && row[c] > largest[c] ? row[c] : largest[c];
    }
    for (std::int64_t begin = 0; begin < scores.keys; begin += kKeyBlock) {
      const std::int64_t end = scores.keys - begin < kKeyBlock ? scores.keys : begin + kKeyBlock;
      float partial[kColumnBlock] = {};
      for (std::int64_t key = begin; key < end; ++key) {
        float* const row = x + key * scores.step + first;
        const int hidden = hidden_from(scores, key) - static_cast<int>(first);
        for (int c = 0; c < static_cast<int>(width); ++c) {
          const float share = exponential_below_zero((row[c] - largest[c]) * scores.scale);
          row[c] = c >= hidden ? share : 0.0f;
          partial[c] += row[c];
        }
      }
      for (std::int64_t c = 0; c < width; ++c) sums[c] += partial[c];
    }
    for (std::int64_t c = 0; c < width; ++c) {
      peaks[first + c] = largest[c];
      sums[c] = inverse_sums[first + c] = 1.0f / sums[c];
    }
    for (std::int64_t key = 0; key < scores.keys; ++key) {
      float* const row = x + key * scores.step + first;
      for (std::int64_t c = 0; c < width; ++c) row[c] *= sums[c];
    }
  });
}

void softmax_backward(const ScoreColumns& scores, const float* peaks, const float* inverse_sums,
                      const float* dots, float* x, float* gradients) {
  const float scale = scores.scale;
  for (std::int64_t key = 0; key < scores.keys; ++key, x += scores.step, gradients += scores.step) {
    const int hidden = hidden_from(scores, key);
    for_each(scores.queries, [=](std::int64_t c) {
      const float share = exponential_below_zero((x[c] - peaks[c]) * scale) * inverse_sums[c];
      const float gradient = share * (gradients[c] - dots[c]) * scale;
      const bool seen = static_cast<int>(c) >= hidden;
      x[c] = seen ? share : 0.0f;
      gradients[c] = seen ? gradient : 0.0f;
    });
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
