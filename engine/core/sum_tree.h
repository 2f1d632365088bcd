#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/range.h"

namespace trainer {

/// Adds up what the blocks of a batch gave, along a binary tree that depends on their number alone: blocks 0
/// and 1, 2 and 3, ... are added, then these sums by twos, and so on; one that is left over moves up as it
/// is. Who holds a part of the blocks adds what the tree adds within that part and keeps the roots, so that
/// sums round the same way wherever they are taken.
class SumTree {
 public:
  /// `inputs`: consecutive nodes of the tree over `leaves` leaves, each as the leaves below it.
  SumTree(int leaves, std::vector<Range> inputs);
  /// The leaves `part` themselves as inputs.
  static SumTree of_leaves(int leaves, const Range& part);

  /// A part of the leaves has at most two roots of each size.
  static constexpr std::size_t kMostRoots = 64;

  std::size_t inputs() const { return merges_.size(); }
  /// What remains when the inputs are added as far as the tree does: one node when they are all leaves.
  const std::vector<Range>& roots() const { return roots_; }

  /// roots[r][i] becomes the sum of what lies below root r, for i in [first, last). A root may be one of the
  /// inputs.
  void sum(std::span<const float* const> inputs, std::span<float* const> roots, std::int64_t first,
           std::int64_t last) const;
  void sum(std::span<const double* const> inputs, std::span<double* const> roots, std::int64_t first,
           std::int64_t last) const;

 private:
  template <class T>
  void sum_chunks(std::span<const T* const> inputs, std::span<T* const> roots, std::int64_t first,
                  std::int64_t last) const;

  std::vector<int> merges_;  ///< after each input: how often the last two sums are added
  std::vector<Range> roots_;
  std::size_t depth_ = 0;  ///< the most sums that are kept at a time
};

}  // namespace trainer
