// Operators that move elements: Transpose, Slice, Concat, Pad, Gather.
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kMove = R"c(
/* Copies six extents; the elements of x and y lie so far apart along each. */
static void move(const float *x, float *y, const int *extents, const int *steps_x, const int *steps_y)
{
  for (int i = 0; i < extents[0]; ++i)
    for (int j = 0; j < extents[1]; ++j)
      for (int k = 0; k < extents[2]; ++k)
        for (int l = 0; l < extents[3]; ++l) {
          const float *from = x + i * steps_x[0] + j * steps_x[1] + k * steps_x[2] + l * steps_x[3];
          float *to = y + i * steps_y[0] + j * steps_y[1] + k * steps_y[2] + l * steps_y[3];
          for (int m = 0; m < extents[4]; ++m)
            for (int n = 0; n < extents[5]; ++n)
              to[m * steps_y[4] + n * steps_y[5]] = from[m * steps_x[4] + n * steps_x[5]];
        }
}
)c";

constexpr std::string_view kRows = R"c(
static void rows(const float *table, const float *indices, float *y, int count, int width)
{
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < width; ++k) *y++ = table[(int)indices[i] * width + k];
}
)c";

/// A tensor of as many extents as a batch has at most, the first ones 1, and the distances between its
/// elements.
struct Grid {
  static constexpr std::size_t kRank = Shape::kMaxRank;
  Extents extents, steps;
  explicit Grid(const Extents& of) : extents(of), steps(kRank) {
    extents.insert(extents.begin(), kRank - of.size(), 1);
    std::int64_t step = 1;
    for (std::size_t axis = kRank; axis-- > 0; step *= extents[axis]) steps[axis] = step;
  }
  /// Where an axis of the tensor lies among them.
  static std::size_t at(std::int64_t axis, std::size_t rank) {
    return static_cast<std::size_t>(axis) + kRank - rank;
  }
};

std::string move(const std::string& x, std::int64_t first_x, const std::string& y, std::int64_t first_y,
                 const Extents& extents, const Extents& steps_x, const Extents& steps_y) {
  return fmt::format(
      "{{\n    static const int extents[] = {{{}}}, from[] = {{{}}}, to[] = {{{}}};\n    move({} + {}, {} + "
      "{}, extents, "
      "from, to);\n  }}",
      listed(extents), listed(steps_x), listed(steps_y), x, first_x, y, first_y);
}

std::string call_transpose(const CNode& node) {
  const Grid x(node.extents()), y(node.output());
  const std::size_t rank = node.extents().size();
  Extents steps = x.steps;
  const std::vector<std::int64_t> order = node.integers("perm", {});
  for (std::size_t axis = 0; axis < rank; ++axis)
    steps[Grid::at(static_cast<std::int64_t>(axis), rank)] = x.steps[Grid::at(order[axis], rank)];
  return move(node.x(), 0, node.y(), 0, y.extents, steps, y.steps);
}

std::string call_slice(const CNode& node) {
  const Grid x(node.extents()), y(node.output());
  const std::size_t axis = Grid::at(node.integers(3)[0], node.extents().size());
  return move(node.x(), node.integers(1)[0] * x.steps[axis], node.y(), 0, y.extents, x.steps, y.steps);
}

std::string call_concat(const CNode& node) {
  const Grid y(node.output());
  const std::size_t axis = Grid::at(node.integer("axis"), node.output().size());
  std::string statements;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const Grid x(node.extents(i));
    if (i > 0) statements += "\n  ";
    statements += move(node.x(i), 0, node.y(), first * y.steps[axis], x.extents, x.steps, y.steps);
    first += x.extents[axis];
  }
  return statements;
}

/// With zeros.
std::string call_pad(const CNode& node) {
  const Grid x(node.extents()), y(node.output());
  const std::size_t rank = node.extents().size();
  std::int64_t first = 0;
  for (std::size_t axis = 0; axis < rank; ++axis)
    first += node.integers(1)[axis] * y.steps[Grid::at(static_cast<std::int64_t>(axis), rank)];
  return fmt::format("for (int i = 0; i < {}; ++i) ({})[i] = 0.0f;\n  ", product(y.extents, 0, Grid::kRank),
                     node.y()) +
         move(node.x(), 0, node.y(), first, x.extents, x.steps, y.steps);
}

std::string call_gather(const CNode& node) {
  return fmt::format("rows({}, {}, {}, {}, {});", node.x(0), node.x(1), node.y(),
                     product(node.extents(1), 0, node.extents(1).size()), node.extents(0)[1]);
}

constexpr COperation kMovementOperations[] = {
    {"Transpose", kMove, call_transpose}, {"Slice", kMove, call_slice},
    {"Concat", kMove, call_concat},       {"Pad", kMove, call_pad},
    {"Gather", kRows, call_gather},
};

}  // namespace

std::span<const COperation> movement_operations() { return kMovementOperations; }

}  // namespace trainer
