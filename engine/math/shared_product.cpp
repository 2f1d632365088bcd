#include "engine/math/shared_product.h"

#include <algorithm>
#include <array>

#include "engine/core/range.h"
#include "engine/core/sum_tree.h"
#include "engine/system/shared_work.h"

namespace trainer {
namespace {

// Rows or columns that stay together: whole vectors, and rows of whole tiles.
constexpr std::int64_t kStep = 16;
// Multiply-adds of the smallest part: about 10 us.
constexpr std::int64_t kPart = 1 << 19;

/// Calls multiply(part, distance of the part's first element of C) for parts of the longer side of C.
template <class AnyProduct, class Multiply>
void share_elements(const AnyProduct& product, std::int64_t k, const Multiply& multiply) {
  const bool by_columns = product.n >= product.m;
  const std::int64_t size = by_columns ? product.n : product.m;
  const std::int64_t steps = (size + kStep - 1) / kStep;
  const int parts = parts_of_work(product.m * product.n * k, steps);
  if (parts < 2) return multiply(product, 0);
  share(parts, [&](int part) {
    const Range own_steps = part_of(steps, part, parts);
    const std::int64_t first = own_steps.first * kStep;
    AnyProduct own = product;
    (by_columns ? own.n : own.m) = std::min(own_steps.last * kStep, size) - first;
    Operand& operand = by_columns ? own.b : own.a;
    operand.data += first * operand.step;
    multiply(own, by_columns ? first : first * product.ldc);
  });
}

}  // namespace

int parts_of_work(std::int64_t multiply_adds, std::int64_t most) {
  if (multiply_adds < 2 * kPart || most < 2) return 1;
  return static_cast<int>(std::min({std::int64_t{1} + waiting_helpers(), multiply_adds / kPart, most}));
}

void multiply_shared(const Product& product, const std::function<void(const Product&)>& multiply) {
  share_elements(product, product.k, [&](const Product& part, std::int64_t elements) {
    Product own = part;
    own.c += elements;
    multiply(own);
  });
}

void multiply_shared(const TreeProduct& product, const std::function<void(const TreeProduct&)>& multiply) {
  share_elements(product, product.ends[product.groups - 1],
                 [&](const TreeProduct& part, std::int64_t elements) {
                   std::array<float*, SumTree::kMaxRoots> roots;
                   for (std::int64_t root = 0; root < part.root_count; ++root)
                     roots[static_cast<std::size_t>(root)] = part.roots[root] + elements;
                   TreeProduct own = part;
                   own.roots = roots.data();
                   multiply(own);
                 });
}

}  // namespace trainer
