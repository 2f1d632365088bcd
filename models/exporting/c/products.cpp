// Gemm and MatMul.
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kDense = R"c(
/* y (lines, outputs) = x (lines, inputs) w + bias; w is (outputs, inputs) if turned. */
static void dense(const float *x, const float *w, const float *bias, float *y, int lines, int inputs, int outputs,
                  int turned)
{
  const int step = turned ? 1 : outputs;
  for (; lines > 0; --lines, x += inputs)
    for (int o = 0; o < outputs; ++o) {
      const float *column = w + (turned ? o * inputs : o);
      float sum = 0.0f;
      for (int i = 0; i < inputs; ++i) sum += x[i] * column[i * step];
      *y++ = bias ? sum + bias[o] : sum;
    }
}
)c";

constexpr std::string_view kProducts = R"c(
/* Products of matrices (rows, inner) and (inner, columns); one that is the same for all has the step 0. */
static void products(const float *a, const float *b, float *y, int count, int step_a, int step_b, int rows, int inner,
                     int columns)
{
  for (; count > 0; --count, a += step_a, b += step_b)
    for (int row = 0; row < rows; ++row, y += columns) {
      for (int column = 0; column < columns; ++column) y[column] = 0.0f;
      for (int i = 0; i < inner; ++i)
        for (int column = 0; column < columns; ++column) y[column] += a[row * inner + i] * b[i * columns + column];
    }
}
)c";

std::string call_gemm(const CNode& node) {
  return fmt::format("dense({}, {}, {}, {}, {}, {}, {}, {});", node.x(), node.x(1), node.x(2), node.y(),
                     node.output()[0], node.extents()[1], node.output()[1], node.integer("transB"));
}

std::string call_matmul(const CNode& node) {
  const Extents &a = node.extents(0), &b = node.extents(1), &y = node.output();
  const std::int64_t rows = y[y.size() - 2], columns = y.back(), inner = a.back();
  const auto matrices = [](const Extents& extents) { return product(extents, 0, extents.size() - 2); };
  return fmt::format("products({}, {}, {}, {}, {}, {}, {}, {}, {});", node.x(0), node.x(1), node.y(),
                     matrices(y), matrices(a) > 1 ? rows * inner : 0, matrices(b) > 1 ? inner * columns : 0,
                     rows, inner, columns);
}

constexpr COperation kProductOperations[] = {{"Gemm", kDense, call_gemm}, {"MatMul", kProducts, call_matmul}};

}  // namespace

std::span<const COperation> product_operations() { return kProductOperations; }

}  // namespace trainer
