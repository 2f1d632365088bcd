#include "engine/core/sum_tree.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "engine/core/bfloat16.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

constexpr std::int64_t kNumbers = 2500;

/// Numbers of very different sizes, whose sum rounds differently in every order.
std::vector<std::vector<float>> random_leaves(int count) {
  std::vector<std::vector<float>> leaves(static_cast<std::size_t>(count), std::vector<float>(kNumbers));
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    RandomStream(3, "leaves", leaf).fill_uniform(0, leaves[leaf]);
    for (std::size_t i = 0; i < kNumbers; ++i)
      leaves[leaf][i] *= 1.0f + static_cast<float>((leaf * 7 + i) % 11 * 100);
  }
  return leaves;
}

/// The sums of neighbours, then of these, until one is left.
std::vector<float> summed_by_levels(std::vector<std::vector<float>> level) {
  while (level.size() > 1) {
    std::vector<std::vector<float>> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(level[i]);
      if (i + 1 < level.size())
        for (std::size_t k = 0; k < kNumbers; ++k) next.back()[k] += level[i + 1][k];
    }
    level = std::move(next);
  }
  return level.front();
}

std::vector<std::vector<float>> roots_of(const SumTree& tree,
                                         const std::vector<std::vector<float>>& numbers) {
  std::vector<std::vector<float>> roots(tree.roots().size(), std::vector<float>(kNumbers));
  std::vector<const float*> from;
  std::vector<float*> to;
  from.reserve(numbers.size());
  to.reserve(roots.size());
  for (const auto& leaf : numbers) from.push_back(leaf.data());
  for (auto& root : roots) to.push_back(root.data());
  tree.sum(from, to, 0, 100);
  tree.sum(from, to, 100, kNumbers);
  return roots;
}

}  // namespace

TEST_CASE("with rounded summands a sum has the same bits wherever the leaves are divided, and 8 correct bits",
          "[parallel]") {
  for (const int count : {2, 3, 7, 8, 21}) {
    const auto leaves = random_leaves(count);
    SumTree whole = SumTree::of_leaves(count, {0, count});
    const auto in_float = roots_of(whole, leaves);
    whole.round_summands();
    const auto expected = roots_of(whole, leaves);
    CHECK(expected != in_float);
    // A leaf is rounded at each of at most 5 levels; all are positive.
    for (std::size_t i = 0; i < kNumbers; ++i)
      CHECK(std::abs(expected[0][i] - in_float[0][i]) <= 5 * 1.02f * kBfloat16Error * in_float[0][i]);
    for (int cut = 1; cut < count; ++cut) {
      std::vector<std::vector<float>> parts;
      std::vector<Range> nodes;
      for (const Range part : {Range{0, cut}, Range{cut, count}}) {
        SumTree tree = SumTree::of_leaves(count, part);
        tree.round_summands();
        // What crosses a link is rounded there.
        for (auto root : roots_of(tree, {leaves.begin() + part.first, leaves.begin() + part.last})) {
          round_to_bfloat16(root);
          parts.push_back(std::move(root));
        }
        nodes.insert(nodes.end(), tree.roots().begin(), tree.roots().end());
      }
      SumTree rest(count, nodes);
      rest.round_summands();
      CAPTURE(count, cut);
      CHECK(roots_of(rest, parts) == expected);
    }
  }
}

TEST_CASE("leaves are added by levels, neighbours first", "[parallel]") {
  for (const int count : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21}) {
    const auto leaves = random_leaves(count);
    const auto roots = roots_of(SumTree::of_leaves(count, {0, count}), leaves);
    CAPTURE(count);
    REQUIRE(roots.size() == 1);
    CHECK(roots[0] == summed_by_levels(leaves));
  }
}

TEST_CASE("the sum has the same bits however the leaves are distributed", "[parallel]") {
  for (const int count : {2, 3, 5, 8, 13}) {
    const auto leaves = random_leaves(count);
    const std::vector<float> expected = summed_by_levels(leaves);
    for (int holders = 1; holders <= count; ++holders) {
      std::vector<Range> nodes;
      std::vector<std::vector<float>> numbers;
      for (int holder = 0; holder < holders; ++holder) {
        const Range part = part_of(count, holder, holders);
        const SumTree tree = SumTree::of_leaves(count, part);
        nodes.insert(nodes.end(), tree.roots().begin(), tree.roots().end());
        for (auto& root : roots_of(tree, {leaves.begin() + part.first, leaves.begin() + part.last}))
          numbers.push_back(std::move(root));
      }
      CAPTURE(count, holders);
      const auto whole = roots_of(SumTree(count, nodes), numbers);
      REQUIRE(whole.size() == 1);
      CHECK(whole[0] == expected);
    }
  }
}

TEST_CASE("whole subtrees have one root; other ranges have several", "[parallel]") {
  CHECK(SumTree::of_leaves(8, {4, 8}).roots() == std::vector<Range>{{4, 8}});
  CHECK(SumTree::of_leaves(8, {1, 4}).roots() == std::vector<Range>{{1, 2}, {2, 4}});
  CHECK(SumTree::of_leaves(6, {4, 6}).roots() == std::vector<Range>{{4, 6}});
  CHECK(SumTree::of_leaves(8, {3, 3}).roots().empty());
}

TEST_CASE("inputs that are no nodes of the tree are refused", "[parallel]") {
  CHECK_THROWS_AS(SumTree(8, {{1, 3}}), std::logic_error);
  CHECK_THROWS_AS(SumTree(8, {{0, 2}, {4, 8}}), std::logic_error);
}

}  // namespace trainer
