#include "engine/math/tree_gemm.h"

#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "engine/math/precision.h"
#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

struct Groups {
  int leaves;
  Range part;                      ///< of the leaves
  std::vector<std::int64_t> ends;  ///< of their rows
};

}  // namespace

TEST_CASE("a product along a tree has the bits of single products that the tree adds", "[gemm]") {
  choose_engine(Engine::native);
  const auto [leaves, part, ends] =
      GENERATE(Groups{8, {0, 8}, {16, 32, 48, 64, 80, 96, 112, 128}}, Groups{8, {0, 3}, {5, 9, 15}},
               Groups{7, {3, 7}, {1, 1, 2, 90}}, Groups{6, {1, 6}, {11, 22, 33, 44, 55}},
               Groups{2, {1, 2}, {30}}, Groups{4, {0, 4}, {0, 0, 0, 0}});
  const std::int64_t m = GENERATE(1, 9, 70, 256), n = GENERATE(1, 3, 20, 64, 100, 1024);
  CAPTURE(leaves, part.first, part.last, m, n);
  const SumTree tree = SumTree::of_leaves(leaves, part);
  const std::int64_t k = ends.back(), lda = m + 2, ldb = n + 3, ldc = n + 1;
  const Values a = random_values(k * lda, 1), b = random_values(k * ldb, 2);

  std::vector<Values> groups, roots(tree.roots().size(), filled(m * ldc, -7)), expected = roots;
  std::vector<const float*> inputs(ends.size());
  std::vector<float*> to, expected_to;
  for (std::size_t group = 0; group < ends.size(); ++group) {
    const std::int64_t first = group == 0 ? 0 : ends[group - 1];
    groups.push_back(filled(m * ldc, -7));
    gemm(Transpose::yes, Transpose::no, m, n, ends[group] - first, a.data() + first * lda, lda,
         b.data() + first * ldb, ldb, 0, groups.back().data(), ldc);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) inputs[group] = groups[group].data();
  for (std::size_t root = 0; root < roots.size(); ++root) {
    to.push_back(roots[root].data());
    expected_to.push_back(expected[root].data());
  }
  for (std::int64_t row = 0; row < m; ++row) tree.sum(inputs, expected_to, row * ldc, row * ldc + n);

  REQUIRE(gemm_along_tree(tree, ends, m, n, a.data(), lda, b.data(), ldb, to, ldc));
  for (std::size_t root = 0; root < roots.size(); ++root) CHECK(same_bits(roots[root], expected[root]));
}

TEST_CASE("a product along a tree is refused where its bits would differ", "[gemm]") {
  choose_engine(Engine::native);
  const std::vector<std::int64_t> ends{1, 2}, many{1, 100000};
  const Values a(2), b(2);
  Values c(1);
  float* const root = c.data();
  const auto is_computed = [&](const SumTree& tree, const std::vector<std::int64_t>& rows) {
    return gemm_along_tree(tree, rows, 1, 1, a.data(), 1, b.data(), 1, {&root, 1}, 1);
  };
  SumTree tree = SumTree::of_leaves(2, {0, 2});
  CHECK(is_computed(tree, ends));
  CHECK_FALSE(is_computed(tree, many));
  choose_precision(Precision::bf16);
  CHECK_FALSE(is_computed(tree, ends));
  choose_precision(Precision::float32);
  tree.round_summands();
  CHECK_FALSE(is_computed(tree, ends));
}
