#include "engine/core/sum_tree.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <type_traits>

#include "engine/core/bfloat16.h"

namespace trainer {
namespace {

/// Bytes of a chunk: those of all levels stay in the first-level cache.
constexpr std::int64_t kChunkBytes = 4096;
constexpr std::size_t kMaxDepth = 64;

// In functions of their own, whose arguments do not overlap: the compiler makes vector code of them.
template <class T>
void add(std::int64_t count, const T* __restrict a, const T* __restrict b, T* __restrict sum) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = a[i] + b[i];
}
template <class T>
void accumulate(std::int64_t count, const T* __restrict a, T* __restrict sum) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += a[i];
}

void add_rounded(std::int64_t count, const float* __restrict a, const float* __restrict b,
                 float* __restrict sum) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = rounded_to_bfloat16(a[i]) + rounded_to_bfloat16(b[i]);
}
void accumulate_rounded(std::int64_t count, const float* __restrict a, float* __restrict sum) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = rounded_to_bfloat16(sum[i]) + rounded_to_bfloat16(a[i]);
}

/// both = a + b, where `both` may be a.
template <class T>
void add_pair(bool rounds, std::int64_t count, const T* a, const T* b, T* both) {
  if constexpr (std::is_same_v<T, float>)
    if (rounds) return a == both ? accumulate_rounded(count, b, both) : add_rounded(count, a, b, both);
  return a == both ? accumulate(count, b, both) : add(count, a, b, both);
}

/// Whether the leaves are those below one node.
bool is_node(const Range& leaves, int all) {
  std::int64_t size = 1;
  while (leaves.first % size == 0 && leaves.first + size < leaves.last) size *= 2;
  return leaves.first % size == 0 && std::min<std::int64_t>(leaves.first + size, all) == leaves.last;
}

}  // namespace

SumTree::SumTree(int leaves, const std::vector<Range>& inputs) {
  for (const Range& input : inputs) {
    if (!is_node(input, leaves) || (!roots_.empty() && roots_.back().last != input.first))
      throw std::logic_error("a tree sums consecutive nodes of its own");
    roots_.push_back(input);
    depth_ = std::max(depth_, roots_.size());
    int merges = 0;
    for (; roots_.size() > 1; ++merges) {
      const Range both{roots_[roots_.size() - 2].first, roots_.back().last};
      if (!is_node(both, leaves)) break;
      roots_.pop_back();
      roots_.back() = both;
    }
    merges_.push_back(merges);
  }
  if (depth_ > kMaxDepth) throw std::logic_error("a tree that is too deep");
}

SumTree SumTree::of_leaves(int leaves, const Range& part) {
  std::vector<Range> inputs;
  for (std::int64_t leaf = part.first; leaf < part.last; ++leaf) inputs.push_back({leaf, leaf + 1});
  return SumTree(leaves, inputs);
}

template <class T>
void SumTree::sum_chunks(std::span<const T* const> inputs, std::span<T* const> roots, std::int64_t first,
                         std::int64_t last) const {
  if (inputs.size() != merges_.size() || roots.size() != roots_.size())
    throw std::logic_error("a tree got other inputs or roots than it was made for");
  if (first >= last) return;
  if (inputs.size() == 1) {
    if (inputs[0] != roots[0]) std::copy(inputs[0] + first, inputs[0] + last, roots[0] + first);
    return;
  }
  constexpr std::int64_t kChunk = kChunkBytes / static_cast<std::int64_t>(sizeof(T));
  // Sums of a level lie in its row; being no input itself, it lets the loops be vectorised.
  alignas(64) T sums[kMaxDepth][kChunk];
  std::array<const T*, kMaxDepth> kept;
  for (std::int64_t start = first; start < last; start += kChunk) {
    const std::int64_t count = std::min(kChunk, last - start);
    std::size_t depth = 0;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      kept[depth++] = inputs[input] + start;
      for (int merge = 0; merge < merges_[input]; ++merge) {
        --depth;
        T* const both = sums[depth - 1];
        add_pair<T>(rounds_, count, kept[depth - 1], kept[depth], both);
        kept[depth - 1] = both;
      }
    }
    for (std::size_t root = 0; root < depth; ++root)
      if (kept[root] != roots[root] + start) std::copy_n(kept[root], count, roots[root] + start);
  }
}

void SumTree::sum(std::span<const float* const> inputs, std::span<float* const> roots, std::int64_t first,
                  std::int64_t last) const {
  sum_chunks(inputs, roots, first, last);
}

void SumTree::sum(std::span<const double* const> inputs, std::span<double* const> roots, std::int64_t first,
                  std::int64_t last) const {
  sum_chunks(inputs, roots, first, last);
}

}  // namespace trainer
