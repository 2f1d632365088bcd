#include "engine/math/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/math/gemm.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

/// Queries whose scores exist at a time.
constexpr std::int64_t kQueries = 64;

/// Some queries of one head, and the keys that any of them sees.
struct Tile {
  std::int64_t first, queries, keys;
};

template <class Visit>
void for_each_tile(const AttentionGeometry& g, Visit visit) {
  for (std::int64_t first = 0; first < g.filled; first += kQueries) {
    const std::int64_t queries = std::min(kQueries, g.filled - first);
    visit(Tile{first, queries, g.causal ? first + queries : g.filled});
  }
}

float scale_of(const AttentionGeometry& g) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(g.head_size)));
}

/// What the softmax kernels need to know of a tile.
ScoreRows score_rows(const AttentionGeometry& g, const Tile& tile) {
  return {.rows = tile.queries,
          .columns = tile.keys,
          .step = g.length,
          .visible = g.causal ? tile.first + 1 : tile.keys,
          .more_visible = g.causal ? 1 : 0,
          .scale = scale_of(g)};
}

}  // namespace

std::int64_t AttentionGeometry::scratch_size() const { return 2 * kQueries * length + kQueries; }

void attention_forward(const AttentionGeometry& g, const float* qkv, float* context, float* sums,
                       float* scratch) {
  const std::int64_t width = g.width(), step = 3 * width;
  std::fill_n(context + g.filled * width, (g.length - g.filled) * width, 0.0f);
  for (std::int64_t head = 0; head < g.heads; ++head) {
    const float* const queries = qkv + head * g.head_size;
    const float *const keys = queries + width, *const values = keys + width;
    float* const peaks = sums + 2 * head * g.length;
    float* const inverse_sums = peaks + g.length;
    for_each_tile(g, [&](const Tile& tile) {
      gemm(Transpose::no, Transpose::yes, tile.queries, tile.keys, g.head_size, queries + tile.first * step,
           step, keys, step, 0, scratch, g.length);
      kernels().attention->softmax(score_rows(g, tile), scratch, peaks + tile.first,
                                   inverse_sums + tile.first);
      gemm(Transpose::no, Transpose::no, tile.queries, g.head_size, tile.keys, scratch, g.length, values,
           step, 0, context + tile.first * width + head * g.head_size, width);
    });
  }
}

void attention_backward(const AttentionGeometry& g, const float* qkv, const float* context, const float* sums,
                        const float* dcontext, float* dqkv, float* scratch) {
  const std::int64_t width = g.width(), step = 3 * width;
  float* const scores = scratch;
  float* const slopes = scores + kQueries * g.length;
  float* const dots = slopes + kQueries * g.length;
  // A single tile writes all that is there; several add to one another.
  const bool is_single = g.filled <= kQueries;
  const std::int64_t written = is_single ? g.filled : 0;
  const float added_to = is_single ? 0.0f : 1.0f;
  std::fill_n(dqkv + written * step, (g.length - written) * step, 0.0f);
  for (std::int64_t head = 0; head < g.heads; ++head) {
    const std::int64_t place = head * g.head_size;
    const float* const queries = qkv + place;
    const float *const keys = queries + width, *const values = keys + width;
    float *const dqueries = dqkv + place, *const dkeys = dqueries + width, *const dvalues = dkeys + width;
    const float* const peaks = sums + 2 * head * g.length;
    const float* const inverse_sums = peaks + g.length;
    for_each_tile(g, [&](const Tile& tile) {
      const float* const dy = dcontext + tile.first * width + place;
      const float* const tile_queries = queries + tile.first * step;
      gemm(Transpose::no, Transpose::yes, tile.queries, tile.keys, g.head_size, tile_queries, step, keys,
           step, 0, scores, g.length);
      gemm(Transpose::no, Transpose::yes, tile.queries, tile.keys, g.head_size, dy, width, values, step, 0,
           slopes, g.length);
      kernels().attention->row_dots(tile.queries, g.head_size, width, context + tile.first * width + place,
                                    dy, dots);
      kernels().attention->softmax_backward(score_rows(g, tile), peaks + tile.first,
                                            inverse_sums + tile.first, dots, scores, slopes);
      gemm(Transpose::yes, Transpose::no, tile.keys, g.head_size, tile.queries, scores, g.length, dy, width,
           added_to, dvalues, step);
      gemm(Transpose::yes, Transpose::no, tile.keys, g.head_size, tile.queries, slopes, g.length,
           tile_queries, step, added_to, dkeys, step);
      gemm(Transpose::no, Transpose::no, tile.queries, g.head_size, tile.keys, slopes, g.length, keys, step,
           0, dqueries + tile.first * step, step);
    });
  }
}

}  // namespace trainer
