#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/range.h"

namespace trainer {

/// Adds the results of virtual workers, the leaves, along a binary tree that depends on their number alone:
/// leaves 0 and 1, 2 and 3, ... are added, then these sums in pairs, and so on; an odd one moves up
/// unchanged. A worker or rank adds within its own leaves and keeps the roots, so that sums round the same
/// way for every placement (pairwise summation, Higham 1993).
class SumTree {
 public:
  /// `inputs`: consecutive nodes of the tree over `leaves` leaves, each as the leaves below it.
  SumTree(int leaves, const std::vector<Range>& inputs);
  /// The inputs are the leaves of `part`.
  static SumTree of_leaves(int leaves, const Range& part);

  /// A part of the leaves has at most two roots of each size.
  static constexpr std::size_t kMaxRoots = 64;

  std::size_t inputs() const { return merges_.size(); }
  /// The nodes that remain after adding the inputs; one node if the inputs are all leaves.
  const std::vector<Range>& roots() const { return roots_; }

  /// From now on rounds both summands of each addition of floats to bfloat16. Nodes that cross a link between
  /// hosts are summands, so they may travel as bfloat16. A root is the sum itself, in float.
  void round_summands() { rounds_ = true; }

  bool rounds_summands() const { return rounds_; }
  /// After each input: how often the last two sums are added.
  std::span<const int> merges() const { return merges_; }
  /// The most sums that are kept at a time.
  std::size_t depth() const { return depth_; }

  /// roots[r][i] becomes the sum of the inputs below root r, for i in [first, last). A root may be the memory
  /// of an input.
  void sum(std::span<const float* const> inputs, std::span<float* const> roots, std::int64_t first,
           std::int64_t last) const;
  void sum(std::span<const double* const> inputs, std::span<double* const> roots, std::int64_t first,
           std::int64_t last) const;

 private:
  template <class T>
  void sum_chunks(std::span<const T* const> inputs, std::span<T* const> roots, std::int64_t first,
                  std::int64_t last) const;

  std::vector<int> merges_;
  std::vector<Range> roots_;
  std::size_t depth_ = 0;
  bool rounds_ = false;  ///< see round_summands()
};

}  // namespace trainer
