// Register tiles of C: a few rows times up to three vectors of columns, and narrow tiles for the last
// columns. Every element is one chain of multiply-adds over k in order that starts with beta C and continues
// from C at each split of k, so its bits do not depend on sizes, position or tile.

#include "engine/math/kernels/gemm_tiles.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kNarrow = 4;  // columns at most that go to narrow tiles
// Shorter vectors multiply zeros faster than narrow tiles load rows of A, or keep the sums of a tree.
constexpr bool kNarrowRows = kLanes == 16, kNarrowTrees = kLanes == 16;

// A panel of B stays in the L1 and L2 caches while all rows of A pass.
constexpr std::int64_t kDepth = kLanes == 16 && !kPairsOfValues ? 512 : 256;
// B of this size lies beyond the L2 cache: panels are packed ahead if A has at least kRowsWorthPacking rows.
constexpr std::int64_t kFarFloats = 1 << 17, kRowsWorthPacking = 33;
// The same limit if A is not transposed: then B holds weights.
constexpr std::int64_t kFarWeights = 1 << 14;
// The columns of a smaller A come from afar only once, when the first panel meets them, unless they are few.
constexpr std::int64_t kFetchedFloats = 1 << 14;
// Elsewhere packing costs more than it saves where B lies as packed, or there are few rows ...
constexpr std::int64_t kDirectRows = kLanes == 16 ? 128 : 32;
// ... and where rows of B compete for a few sets of the cache.
constexpr std::int64_t kDirectRowsPageApart = kLanes == 16 ? 64 : 8;
// A, contiguous in rows that compete, pays only with the shorter vectors.
constexpr bool kCopiesA = kLanes < 16 && !kPairsOfValues;
constexpr std::int64_t kCopiedRows = 64;

constexpr std::int64_t kPanelFloats = kDepth * kVectors * kLanes;

// A is packed by tiles once, unless it is too large, or there are too few columns to gain by it. Pairs of
// bfloat16 come packed.
constexpr std::int64_t kTiledFloats = kPairsOfValues ? 1 : 1 << 17, kTiledColumns = 512;
// Parts of a larger A are multiplied one after the other, so that each stays in a small L2 cache. Processors
// with AVX-512 have a larger one: there A is never cut.
constexpr std::int64_t kNearFloats = std::int64_t{1} << (kLanes == 16 ? 40 : 16);
constexpr std::int64_t kPackedRows = kLanes > kRows ? kLanes : kRows;  // at once: whole vectors and tiles

// The other way round: the fewest rows; the most elements of B, since more would come from memory as A
// does; the longest way between rows of B, which compete for a few sets of a small L2 cache if they are 512
// apart; columns of C at a time.
constexpr std::int64_t kFewestSwapped = 32, kMaxSwapped = 1 << 21, kNearRows = kLanes == 16 ? 512 : 448,
                       kSwappedAtOnce = kPairsOfValues ? kLanes : 1024;
constexpr std::int64_t kTransposing = 3;  // times the work of copying

/// What a thread's products pack, in product_memory().
struct Packed {
  alignas(64) float b_panels[2 * kPanelFloats];
  alignas(64) float a_copy[kCopiesA ? kDepth * kCopiedRows : 1];
  alignas(64) float a_tiles[kTiledFloats];
  alignas(64) float c_swapped[kSwappedAtOnce * kVectors * kLanes];
};

inline Packed& packed_memory() {
  return *reinterpret_cast<Packed*>(product_memory(sizeof(Packed) / sizeof(float)));
}

inline bool page_apart(std::int64_t step) { return step % 1024 == 0; }

template <class Half, int... lane>
inline auto join(const Half& first, const Half& second, Lanes<lane...>) {
  return __builtin_shufflevector(first, second, lane...);
}

/// Four elements from each of several rows.
template <int lanes>
inline auto load_fours(const float* from, std::int64_t step) {
  if constexpr (lanes == 4) {
    typedef float Four __attribute__((vector_size(16)));
    typedef float LooseFour __attribute__((vector_size(16), aligned(4), may_alias));
    return Four(*reinterpret_cast<const LooseFour*>(from));
  } else {
    return join(load_fours<lanes / 2>(from, step), load_fours<lanes / 2>(from + lanes / 8 * step, step),
                typename Count<lanes>::Type{});
  }
}

/// Element i of each four lanes, in all of them.
template <int i, int... lane>
inline Vector spread(const Vector& vector, Lanes<lane...>) {
  return __builtin_shufflevector(vector, vector, (lane / 4 * 4 + i)...);
}

// Narrow tiles, for four columns or less. B comes packed, one vector with zeros behind its columns for each
// k.

constexpr int kWideVectors = 8;
constexpr int kWideRows = kWideVectors * kFours;

/// Rows of A are contiguous: a vector holds the four columns of some rows.
void multiply_narrow_by_rows(std::int64_t depth, const Operand& a, const float* b, std::int64_t columns,
                             const Place& place) {
  constexpr AllLanes lanes;
  float all[kWideRows][4] = {};
  if (place.beta != 0.0f)
    for (std::int64_t r = 0; r < kWideRows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) all[r][c] = place.beta * place.c[r * place.ldc + c];
  Vector sums[kWideVectors];
  const float* base[kWideVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kWideVectors; ++v) {
    sums[v] = load(all[v * kFours]);
    base[v] = a.data + v * kFours * a.step;
  }
  std::int64_t k = 0;
  for (; k + 4 <= depth; k += 4, b += 4 * kLanes) {
    const Vector weights[4] = {load_fours<kLanes>(b, 0), load_fours<kLanes>(b + kLanes, 0),
                               load_fours<kLanes>(b + 2 * kLanes, 0), load_fours<kLanes>(b + 3 * kLanes, 0)};
#pragma GCC unroll 8
    for (int v = 0; v < kWideVectors; ++v) {
      const Vector values = load_fours<kLanes>(base[v], a.step);
      sums[v] = multiply_add(spread<0>(values, lanes), weights[0], sums[v]);
      sums[v] = multiply_add(spread<1>(values, lanes), weights[1], sums[v]);
      sums[v] = multiply_add(spread<2>(values, lanes), weights[2], sums[v]);
      sums[v] = multiply_add(spread<3>(values, lanes), weights[3], sums[v]);
      base[v] += 4;
      hide(base[v]);
    }
  }
  for (; k < depth; ++k, b += kLanes) {
    const Vector weights = load_fours<kLanes>(b, 0);
#pragma GCC unroll 8
    for (int v = 0; v < kWideVectors; ++v) {
      float values[kLanes];
      for (int i = 0; i < kLanes; ++i) values[i] = base[v][i / 4 * a.step];
      sums[v] = multiply_add(load(values), weights, sums[v]);
      ++base[v];
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kWideVectors; ++v) store(sums[v], all[v * kFours]);
  for (std::int64_t r = 0; r < kWideRows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) place.c[r * place.ldc + c] = all[r][c];
}

constexpr int kTallVectors = KERNEL_REGISTERS == 32 ? 4 : 2;
constexpr int kTallRows = kTallVectors * kLanes;

/// Columns of A are contiguous: a vector holds one column of many rows.
void multiply_narrow_by_columns(std::int64_t depth, const Operand& a, const float* b, std::int64_t columns,
                                const Place& place) {
  float all[kNarrow][kTallRows] = {};
  if (place.beta != 0.0f)
    for (std::int64_t r = 0; r < kTallRows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) all[c][r] = place.beta * place.c[r * place.ldc + c];
  Vector sums[kNarrow][kTallVectors];
#pragma GCC unroll 4
  for (int c = 0; c < kNarrow; ++c)
#pragma GCC unroll 4
    for (int v = 0; v < kTallVectors; ++v) sums[c][v] = load(all[c] + v * kLanes);
  for (std::int64_t k = 0; k < depth; ++k, b += kLanes) {
    Vector values[kTallVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTallVectors; ++v) values[v] = load(a.data + k * a.k_step + v * kLanes);
#pragma GCC unroll 4
    for (int c = 0; c < kNarrow; ++c)
#pragma GCC unroll 4
      for (int v = 0; v < kTallVectors; ++v) sums[c][v] = multiply_add(values[v], b[c], sums[c][v]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < kNarrow; ++c)
#pragma GCC unroll 4
    for (int v = 0; v < kTallVectors; ++v) store(sums[c][v], all[c] + v * kLanes);
  for (std::int64_t r = 0; r < kTallRows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) place.c[r * place.ldc + c] = all[c][r];
}

void multiply_narrow(std::int64_t rows, std::int64_t depth, const Operand& a, const float* b,
                     std::int64_t columns, const Place& place) {
  const bool by_rows = a.k_step == 1;
  const std::int64_t at_once = by_rows ? kWideRows : kTallRows;
  std::int64_t row = 0;
  for (; row + at_once <= rows; row += at_once)
    (by_rows ? multiply_narrow_by_rows : multiply_narrow_by_columns)(depth, part(a, row, 0), b, columns,
                                                                     below(place, row));
  Packing nothing;
  multiply_panel<1>(rows - row, depth, {part(a, row, 0)}, {b, kLanes, columns}, below(place, row), nothing);
}

/// Some columns of B that are taken together.
struct Panel {
  std::int64_t columns, vectors;
  bool narrow;

  std::int64_t width() const { return vectors * kLanes; }
};

/// `narrow`: a few last columns go to narrow tiles, else to one more vector.
inline Panel next_panel(std::int64_t left, bool narrow) {
  const std::int64_t over = left % kLanes;
  const bool begins_vector = over > (narrow ? kNarrow : 0);
  const std::int64_t vectors = left / kLanes, all = vectors + (begins_vector ? 1 : 0);
  // Twice two rather than three and one, whose few sums would wait for each other.
  if (all == kVectors + 1 && (over == 0 || !narrow)) return {2 * kLanes, 2, false};
  if (vectors >= kVectors) return {kVectors * kLanes, kVectors, false};
  if (begins_vector) return {left, all, false};
  if (vectors > 0) return {vectors * kLanes, vectors, false};
  return {over, 1, true};
}

/// C (+)= A B over some of k, for the columns of a panel.
void multiply_part(const Panel& panel, std::int64_t rows, std::int64_t depth, const Rows& a, const Columns& b,
                   const Place& place, Packing& next, Packed& memory) {
  const MultiplyPanel multiply_rows = panel_of(panel.vectors);
  // Tiles of one vector may have more rows than A is packed for.
  const Rows usable = panel.vectors == 1 ? Rows{a.as_is} : a;
  const Operand& as_is = a.as_is;
  if (panel.narrow) {
    multiply_narrow(rows, depth, as_is, b.data, panel.columns, place);
  } else {
    next.expect(rows / tile_rows(panel.vectors) * (depth / Packing::kStride));
    if (kCopiesA && usable.tiled == 0 && as_is.step == 1 && page_apart(as_is.k_step)) {
      for (std::int64_t row = 0; row < rows; row += kCopiedRows) {
        const std::int64_t here = rows - row < kCopiedRows ? rows - row : kCopiedRows;
        pack(part(as_is, row, 0), here, kCopiedRows, depth, memory.a_copy);
        multiply_rows(here, depth, {{memory.a_copy, 1, kCopiedRows}}, b, below(place, row), next);
      }
    } else {
      multiply_rows(rows, depth, usable, b, place, next);
    }
  }
  if (!next.empty()) next.finish();
}

/// A by tiles, if that pays: they read it on and on then, and rows that lie pages apart do not compete.
Rows tiled(const Product& product, float* a_tiles) {
  const auto& [m, n, k, a, b, beta, c, ldc] = product;
  if (kPairsOfValues) return {a};
  Rows rows{a, a_tiles, m - m % kPackedRows, k};
  if (n < kTiledColumns || rows.tiled * k > kTiledFloats || (a.k_step == 1 && !page_apart(a.step)))
    return {a};
  for (std::int64_t row = 0; row < rows.tiled; row += kPackedRows)
    for (std::int64_t first = 0; first < k; first += kLanes) {
      const std::int64_t depth = k - first < kLanes ? k - first : kLanes;
      alignas(64) float some[kPackedRows * kLanes];
      pack(part(a, row, first), kPackedRows, kPackedRows, depth, some);
      for (std::int64_t i = 0; i < depth; ++i)
        for (std::int64_t tile = 0; tile < kPackedRows; tile += kRows)
          __builtin_memcpy(a_tiles + (row + tile) * k + (first + i) * kRows, some + i * kPackedRows + tile,
                           kRows * sizeof(float));
    }
  return rows;
}

/// The order in which blocks of a product are multiplied; each element of C meets its k in ascending order.
/// A small A: all k of some columns, then the next columns. Else all columns for a part of A, which stays in
/// the L2 cache, then the next rows, then the next k.
class Walk {
 public:
  explicit Walk(const Product& product)
      : product_(product),
        usual_depth_(equal_part(product.k, kDepth, kLanes)),
        near_a_(product.m * product.k <= kNearFloats || product.n <= kVectors * kLanes),
        usual_rows_(near_a_ ? product.m : equal_part(product.m, kNearFloats / usual_depth_, kPackedRows)) {}

  std::int64_t column = 0, k = 0, row = 0;

  std::int64_t depth() const { return least(product_.k - k, usual_depth_); }
  std::int64_t rows() const { return least(product_.m - row, usual_rows_); }
  Panel panel() const { return next_panel(product_.n - column, kNarrowRows || product_.a.k_step != 1); }
  bool begins_part_of_a() const { return column == 0 && (k == 0 || !near_a_); }
  /// What stays in the L2 cache while all columns pass: all of A if it is small, else these rows and k.
  Rows part_of_a(float* tiles) const {
    return tiled({.m = rows(),
                  .n = product_.n,
                  .k = near_a_ ? product_.k : depth(),
                  .a = part(product_.a, row, k),
                  .b = product_.b},
                 tiles);
  }
  /// Of that part, what is multiplied now.
  Rows of_part(const Rows& part_of_a) const { return near_a_ ? part_of_a.from(k) : part_of_a; }

  /// False at the end.
  bool advance() {
    if (near_a_) return step(k, usual_depth_, product_.k) || step(column, panel().columns, product_.n);
    return step(column, panel().columns, product_.n) || step(row, usual_rows_, product_.m) ||
           step(k, usual_depth_, product_.k);
  }

 private:
  static bool step(std::int64_t& at, std::int64_t by, std::int64_t end) {
    at += by;
    if (at < end) return true;
    at = 0;
    return false;
  }

  const Product& product_;
  std::int64_t usual_depth_;
  bool near_a_;
  std::int64_t usual_rows_;
};

void multiply(const Product& product, Packed& memory) {
  float* const b_panels = memory.b_panels;
  float* to = b_panels;
  const auto packing = [&](const Walk& at) {
    const Panel panel = at.panel();
    return Packing(part(product.b, at.column, at.k), panel.columns, panel.width(), at.depth(), to);
  };
  const std::int64_t direct_rows = page_apart(product.b.k_step) ? kDirectRowsPageApart : kDirectRows;
  const std::int64_t far_floats = product.a.k_step == 1 && product.m > direct_rows ? kFarWeights : kFarFloats;
  const bool far = product.n * product.k >= far_floats && product.m >= kRowsWorthPacking;
  // With shorter vectors fetching it took longer than it saved.
  const bool far_c = kLanes == 16 && product.m * product.n > kFarFloats;
  const std::int64_t floats_of_a = product.m * product.k;
  const bool fetches_a =
      !kPairsOfValues && product.a.step == 1 && floats_of_a >= kFetchedFloats && floats_of_a <= kFarFloats;
  Walk at(product);
  Rows part_of_a;
  if (far) packing(at).finish();
  for (bool is_last = false; !is_last;) {
    const Walk here = at;
    is_last = !at.advance();
    const Panel panel = here.panel();
    Columns b{to, panel.width(), panel.columns};
    Packing next;
    if (far) {
      to = to == b_panels ? b_panels + kPanelFloats : b_panels;
      if (!is_last) next = packing(at);
    } else if ((product.m <= direct_rows || product.b.k_step == panel.width()) && product.b.step == 1 &&
               panel.columns == panel.width()) {
      b = {product.b.data + here.column + here.k * product.b.k_step, product.b.k_step, panel.columns};
    } else {
      pack(part(product.b, here.column, here.k), panel.columns, panel.width(), here.depth(), to);
    }
    if (here.begins_part_of_a()) part_of_a = here.part_of_a(memory.a_tiles);
    const Rows rows = here.of_part(part_of_a);
    if (here.column == 0 && fetches_a && rows.tiled == 0) {
      const Operand& of_a = rows.as_is;
      for (std::int64_t i = 0; i < here.depth(); ++i) fetch_line<false, 2>(of_a.data, i * of_a.k_step);
      next.fetch_lines(of_a.data, 0, of_a.k_step);
    }
    multiply_part(panel, here.rows(), here.depth(), rows, b,
                  {product.c + here.row * product.ldc + here.column, product.ldc,
                   here.k == 0 ? product.beta : 1.0f, here.k == 0 && far_c},
                  next, memory);
  }
}

/// Whether B is so much larger than A that transposing what comes out costs less than packing B.
bool swaps(const Product& product) {
  const auto& [m, n, k, a, b, beta, c, ldc] = product;
  const auto packing = [depth = k](const Operand& from, std::int64_t count) {
    return count * depth * (from.step == 1 ? 1 : kTransposing);
  };
  return !kPairsOfValues && beta == 0.0f && m >= kFewestSwapped && n >= 2 * kFewestSwapped &&
         n * k <= kMaxSwapped && (b.step != 1 || b.k_step <= kNearRows) &&
         2 * (packing(a, m) + kTransposing * m * n) < packing(b, n);
}

/// The transpose of C, the product of the transposes of B and A, some columns of C at a time.
void multiply_swapped(const Product& product, Packed& memory) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  for (std::int64_t row = 0; row < product.m; row += kWidth)
    for (std::int64_t column = 0; column < product.n; column += kSwappedAtOnce) {
      const std::int64_t rows = least(kWidth, product.m - row);
      const std::int64_t columns = least(kSwappedAtOnce, product.n - column);
      const Operand a = part(product.b, column, 0);
      multiply({columns, rows, product.k, a, part(product.a, row, 0), 0.0f, memory.c_swapped, kWidth},
               memory);
      float* const c = product.c + row * product.ldc + column;
      // A vector's rows at a time, so that writing is contiguous.
      for (std::int64_t r = 0; r < rows; r += kLanes)
        transpose_all(memory.c_swapped + r, kWidth, columns, least(kLanes, rows - r), c + r * product.ldc,
                      product.ldc);
    }
}

void multiply_any(const Product& product) {
  Packed& memory = packed_memory();
  if (swaps(product)) return multiply_swapped(product, memory);
  multiply(product, memory);
}

/// Some rows and columns of a product along a tree, whose sums lie `width` floats apart in the L1 cache.
struct TreeTile {
  std::int64_t row, rows, column, columns, width;
};

/// multiply(first k, k, sum, merges) adds the product of a group to the last `merges` sums; the result
/// replaces the first of them, `sum`, behind which the others lie kTileFloats apart.
template <class Multiply>
void sum_along_tree(const TreeProduct& product, const TreeTile& tile, Multiply multiply) {
  alignas(64) float sums[TreeProduct::kMaxDepth * kTileFloats];
  // A far C arrives while the groups are multiplied; else its stores would hold up those of the sums.
  const std::int64_t far_roots = product.m * product.n > kFarFloats ? product.root_count : 0;
  const auto c_at = [&](std::int64_t r) { return (tile.row + r) * product.ldc + tile.column; };
  for (std::int64_t root = 0; root < far_roots; ++root)
    for (std::int64_t r = 0; r < tile.rows; ++r)
      for (std::int64_t c = 0; c < tile.columns; c += kLine)
        fetch_line<true, 2>(product.roots[root], c_at(r) + c);
  std::int64_t depth = 0, k = 0;
  for (std::int64_t group = 0; group < product.groups; ++group) {
    const std::int64_t last = product.ends[group];
    const int merges = product.merges[group];
    depth += 1 - merges;
    multiply(k, last - k, sums + (depth - 1) * kTileFloats, merges);
    k = last;
  }
  for (std::int64_t root = 0; root < depth; ++root)
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const float* const from = sums + root * kTileFloats + r * tile.width;
      float* const to = product.roots[root] + c_at(r);
      std::int64_t c = 0;
      for (; c + kLanes <= tile.columns; c += kLanes) store(load(from + c), to + c);
      if (c < tile.columns) store_first(load(from + c), tile.columns - c, to + c);
    }
}

using MultiplyTree = void (*)(const TreeProduct& product, const TreeTile& tile, const Operand& a,
                              const Columns& b);

/// Flat: calls for each group take longer than sums that stay in registers.
template <int vectors, int rows>
[[gnu::flatten]] void multiply_tree_tile(const TreeProduct& product, const TreeTile& tile, const Operand& a,
                                         const Columns& b) {
  constexpr std::int64_t kWidth = vectors * kLanes;
  sum_along_tree(product, tile, [&](std::int64_t k, std::int64_t depth, float* sum, int merges) {
    multiply_tile<vectors, rows>(depth, part(a, 0, k), {b.data + k * kWidth, kWidth, kWidth},
                                 {sum, kWidth, 0.0f, false, merges});
  });
}

template <int vectors, int rows = static_cast<int>(tile_rows(vectors))>
MultiplyTree tree_tile_of(std::int64_t required) {
  if constexpr (rows == 0)
    return nullptr;
  else
    return required == rows ? multiply_tree_tile<vectors, rows> : tree_tile_of<vectors, rows - 1>(required);
}

void multiply_narrow_tree(const TreeProduct& product, const TreeTile& tile, const Operand& a,
                          const Columns& b) {
  sum_along_tree(product, tile, [&](std::int64_t k, std::int64_t depth, float* sum, int merges) {
    float* last = sum + merges * kTileFloats;
    multiply_narrow(tile.rows, depth, part(a, 0, k), b.data + k * b.step, tile.columns,
                    {last, kNarrow, 0.0f, false});
    for (; last != sum; last -= kTileFloats)
      for (std::int64_t i = 0; i < tile.rows * kNarrow; i += kLanes)
        store(load(last - kTileFloats + i) + load(last + i), last - kTileFloats + i);
  });
}

/// All rows times one panel of columns.
void multiply_tree_panel(const TreeProduct& product, const Rows& a, const Columns& b, const Panel& panel,
                         std::int64_t column) {
  const std::int64_t rows_at_once = panel.narrow ? kTallRows : tile_rows(panel.vectors);
  for (std::int64_t row = 0; row < product.m; row += rows_at_once) {
    const std::int64_t rows = least(product.m - row, rows_at_once);
    const MultiplyTree multiply = panel.narrow         ? multiply_narrow_tree
                                  : panel.vectors == 3 ? tree_tile_of<3>(rows)
                                  : panel.vectors == 2 ? tree_tile_of<2>(rows)
                                                       : tree_tile_of<1>(rows);
    multiply(product, {row, rows, column, panel.columns, panel.narrow ? kNarrow : panel.width()}, a.at(row),
             b);
  }
}

void multiply_along_tree(const TreeProduct& product) {
  const std::int64_t k = product.ends[product.groups - 1];
  Packed& memory = packed_memory();
  float* const b_panels = memory.b_panels;
  const Rows all =
      tiled({product.m, product.n, k, product.a, product.b, 0.0f, nullptr, product.ldc}, memory.a_tiles);
  for (std::int64_t column = 0; column < product.n;) {
    const Panel panel = next_panel(product.n - column, kNarrowTrees);
    pack(part(product.b, column, 0), panel.columns, panel.width(), k, b_panels);
    // Tiles of one vector may have more rows than A is packed for.
    multiply_tree_panel(product, panel.vectors == 1 ? Rows{product.a} : all,
                        {b_panels, panel.width(), panel.columns}, panel, column);
    column += panel.columns;
  }
}

}  // namespace

extern const GemmKernels gemm_kernels;
const GemmKernels gemm_kernels = {multiply_any, kVectors* kLanes, kLanes >= 8, multiply_along_tree,
                                  2 * kDepth};

}  // namespace trainer::KERNEL_NAMESPACE
