#include "engine/math/attention.h"

#include <algorithm>
#include <cmath>

#include "engine/math/gemm.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

/// Queries whose scores exist at a time: of a causal sequence, the fewer the less is computed that no query
/// sees.
constexpr std::int64_t kQueries = 32;

/// Some queries of one head, and the keys that any of them sees.
struct Tile {
  std::int64_t first, queries, keys;
  bool begins;  ///< nothing of this head has been added to the gradients of keys and values yet
};

/// The last queries first: they see all keys.
template <class Visit>
void for_each_tile(const AttentionGeometry& g, Visit visit) {
  const std::int64_t last = g.first + (g.filled - g.first - 1) / kQueries * kQueries;
  for (std::int64_t first = last; first >= g.first; first -= kQueries) {
    const std::int64_t queries = std::min(kQueries, g.filled - first);
    visit(Tile{first, queries, g.causal ? first + queries : g.filled, first == last});
  }
}

/// Prefetches the memory after a sequence, a share at each call: in a batch it is the next sequence, of which
/// each head reads a few values at a time. Addresses are integers, since the last sequence has no next one.
class Ahead {
 public:
  Ahead(const AttentionGeometry& g, const float* sequence, std::int64_t floats, std::int64_t calls_a_tile)
      : next_(reinterpret_cast<std::uintptr_t>(sequence) + bytes(floats)) {
    const std::int64_t tiles = (g.filled + kQueries - 1) / kQueries * g.heads;
    if (floats <= kMaxFetched && tiles > 0 && g.first == 0)
      share_ = bytes(floats / (tiles * calls_a_tile) + kLine);
  }
  // Always inline: the compiler removes calls of a function that only fetches.
  [[gnu::always_inline]] void fetch() {
    for (const std::uintptr_t end = next_ + share_; next_ < end; next_ += bytes(kLine))
      __builtin_prefetch(reinterpret_cast<const void*>(next_), 0, 2);
  }

 private:
  static constexpr std::int64_t kLine = 16, kMaxFetched = 1 << 16;  // floats
  static constexpr std::uintptr_t bytes(std::int64_t floats) {
    return static_cast<std::uintptr_t>(floats) * sizeof(float);
  }
  std::uintptr_t next_, share_ = 0;
};

float scale_of(const AttentionGeometry& g) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(g.head_size)));
}

/// Where a head's keys are in a row.
std::int64_t keys_of(const AttentionGeometry& g, std::int64_t head) {
  return g.width() + head / (g.heads / g.key_heads) * g.head_size;
}

/// The columns of a tile, for the softmax kernels.
ScoreColumns score_columns(const AttentionGeometry& g, const Tile& tile) {
  return {.keys = tile.keys,
          .queries = tile.queries,
          .step = kQueries,
          .visible = g.causal ? tile.first + 1 : tile.keys,
          .scale = scale_of(g)};
}

}  // namespace

std::int64_t AttentionGeometry::scratch_size() const { return 2 * kQueries * length + kQueries; }

void attention_forward(const AttentionGeometry& g, const float* qkv, float* context, float* sums,
                       float* scratch) {
  const std::int64_t width = g.width(), step = g.row();
  std::fill_n(context + (g.filled - g.first) * width, (g.length - g.filled) * width, 0.0f);
  Ahead ahead(g, qkv, g.length * step, 1);
  for (std::int64_t head = 0; head < g.heads; ++head) {
    const float* const queries = qkv + head * g.head_size;
    const float *const keys = qkv + keys_of(g, head), *const values = keys + g.key_width();
    float* const peaks = sums + 2 * head * g.length;
    float* const inverse_sums = peaks + g.length;
    for_each_tile(g, [&](const Tile& tile) {
      gemm(Transpose::no, Transpose::yes, tile.keys, tile.queries, g.head_size, keys, step,
           queries + tile.first * step, step, 0, scratch, kQueries);
      ahead.fetch();
      kernels().attention->softmax(score_columns(g, tile), scratch, peaks + tile.first,
                                   inverse_sums + tile.first);
      gemm(Transpose::yes, Transpose::no, tile.queries, g.head_size, tile.keys, scratch, kQueries, values,
           step, 0, context + (tile.first - g.first) * width + head * g.head_size, width);
    });
  }
}

void attention_backward(const AttentionGeometry& g, const float* qkv, const float* context, const float* sums,
                        const float* dcontext, float* dqkv, float* scratch) {
  const std::int64_t width = g.width(), step = g.row();
  float* const scores = scratch;
  float* const gradients = scores + kQueries * g.length;
  float* const dots = gradients + kQueries * g.length;
  std::fill_n(dqkv + g.filled * step, (g.length - g.filled) * step, 0.0f);
  Ahead ahead(g, qkv, g.length * step, 3), context_ahead(g, context, g.length * width, 1);
  for (std::int64_t head = 0; head < g.heads; ++head) {
    const std::int64_t place = head * g.head_size, key_place = keys_of(g, head);
    const float* const queries = qkv + place;
    const float *const keys = qkv + key_place, *const values = keys + g.key_width();
    float *const dqueries = dqkv + place, *const dkeys = dqkv + key_place,
                 *const dvalues = dkeys + g.key_width();
    const bool is_first = head % (g.heads / g.key_heads) == 0;  // of those that share keys
    const float* const peaks = sums + 2 * head * g.length;
    const float* const inverse_sums = peaks + g.length;
    for_each_tile(g, [&](const Tile& tile) {
      const float* const dy = dcontext + tile.first * width + place;
      const float* const tile_queries = queries + tile.first * step;
      const float added_to = tile.begins && is_first ? 0.0f : 1.0f;
      gemm(Transpose::no, Transpose::yes, tile.keys, tile.queries, g.head_size, keys, step, tile_queries,
           step, 0, scores, kQueries);
      ahead.fetch();
      gemm(Transpose::no, Transpose::yes, tile.keys, tile.queries, g.head_size, values, step, dy, width, 0,
           gradients, kQueries);
      context_ahead.fetch();
      kernels().attention->row_dots(tile.queries, g.head_size, width, context + tile.first * width + place,
                                    dy, dots);
      kernels().attention->softmax_backward(score_columns(g, tile), peaks + tile.first,
                                            inverse_sums + tile.first, dots, scores, gradients);
      gemm(Transpose::no, Transpose::no, tile.keys, g.head_size, tile.queries, scores, kQueries, dy, width,
           added_to, dvalues, step);
      ahead.fetch();
      gemm(Transpose::no, Transpose::no, tile.keys, g.head_size, tile.queries, gradients, kQueries,
           tile_queries, step, added_to, dkeys, step);
      gemm(Transpose::yes, Transpose::no, tile.queries, g.head_size, tile.keys, gradients, kQueries, keys,
           step, 0, dqueries + tile.first * step, step);
    });
  }
}

}  // namespace trainer
