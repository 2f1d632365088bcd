#pragma once

#include <cstdint>

namespace trainer {

/// Scaled dot-product attention (Vaswani et al. 2017) of one sequence with itself. Its rows of (length,
/// row()) are queries, keys and values of all heads, one behind the other. As many neighbouring queries'
/// heads share keys and values as there are heads for each key_head (Ainslie et al. 2023, "GQA").
struct AttentionGeometry {
  std::int64_t length = 0, heads = 0, key_heads = 0, head_size = 0;
  std::int64_t filled = 0;  ///< positions that are not padding; padding comes last and no query sees it
  std::int64_t first = 0;   ///< whose query is the first to be answered, by forward alone
  bool causal = false;      ///< a position sees itself and those before it

  std::int64_t width() const { return heads * head_size; }
  std::int64_t key_width() const { return key_heads * head_size; }
  std::int64_t row() const { return width() + 2 * key_width(); }
  /// Floats of scratch, linear in the length: scores exist for a tile of queries at a time.
  std::int64_t scratch_size() const;
  /// Floats that forward leaves for backward.
  std::int64_t sums_size() const { return 2 * heads * length; }
};

/// context (length - first, width) = softmax(queries keys' / sqrt(head_size)) values, for each head and the
/// positions from `first` on; zeros for padding, which only sequences from 0 on have.
void attention_forward(const AttentionGeometry& geometry, const float* qkv, float* context, float* sums,
                       float* scratch);
/// dqkv from dcontext and the inputs and results of forward; recomputes the scores.
void attention_backward(const AttentionGeometry& geometry, const float* qkv, const float* context,
                        const float* sums, const float* dcontext, float* dqkv, float* scratch);

}  // namespace trainer
