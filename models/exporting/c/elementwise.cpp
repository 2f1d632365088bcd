// Functions of each element, of one tensor or of two that are broadcast.
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kRelu = R"c(
static void relu(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
)c";
constexpr std::string_view kHardSigmoid = R"c(
static void hard_sigmoid(const float *x, float *y, int count, float alpha, float beta)
{
  for (int i = 0; i < count; ++i) {
    const float z = alpha * x[i] + beta;
    y[i] = z < 0.0f ? 0.0f : z > 1.0f ? 1.0f : z;
  }
}
)c";
constexpr std::string_view kSigmoid = R"c(
static void sigmoid(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = 1.0f / (1.0f + expf(-x[i]));
}
)c";
constexpr std::string_view kTanh = R"c(
static void hyperbolic_tangent(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = tanhf(x[i]);
}
)c";
constexpr std::string_view kErf = R"c(
static void error_function(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = erff(x[i]);
}
)c";
constexpr std::string_view kSqrt = R"c(
static void root(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = sqrtf(x[i]);
}
)c";
constexpr std::string_view kSoftplus = R"c(
static void softplus(const float *x, float *y, int count)
{
  for (int i = 0; i < count; ++i) y[i] = (x[i] > 0.0f ? x[i] : 0.0f) + log1pf(expf(-fabsf(x[i])));
}
)c";
constexpr std::string_view kElu = R"c(
static void elu(const float *x, float *y, int count, float alpha)
{
  for (int i = 0; i < count; ++i) y[i] = x[i] > 0.0f ? x[i] : alpha * expm1f(x[i]);
}
)c";
constexpr std::string_view kLeakyRelu = R"c(
static void leaky_relu(const float *x, float *y, int count, float negative_slope)
{
  for (int i = 0; i < count; ++i) y[i] = x[i] > 0.0f ? x[i] : negative_slope * x[i];
}
)c";
/// Positions are counted by their last extent first; a step of 0 repeats an element.
constexpr std::string_view kBinary = R"c(
enum operation { ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, LARGER, PRELU };

static float combine(enum operation operation, float a, float b)
{
  switch (operation) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case POWER: return powf(a, b);
    case LARGER: return a < b ? b : a;
    default: return a > 0.0f ? a : a * b;
  }
}

/* Six extents, and how far apart a and b have the elements along each. */
static void binary(enum operation operation, const float *a, const float *b, float *y, const int *extents,
                   const int *steps_a, const int *steps_b)
{
  for (int i = 0; i < extents[0]; ++i)
    for (int j = 0; j < extents[1]; ++j)
      for (int k = 0; k < extents[2]; ++k)
        for (int l = 0; l < extents[3]; ++l) {
          const float *u = a + i * steps_a[0] + j * steps_a[1] + k * steps_a[2] + l * steps_a[3];
          const float *v = b + i * steps_b[0] + j * steps_b[1] + k * steps_b[2] + l * steps_b[3];
          for (int m = 0; m < extents[4]; ++m)
            for (int n = 0; n < extents[5]; ++n)
              *y++ = combine(operation, u[m * steps_a[4] + n * steps_a[5]], v[m * steps_b[4] + n * steps_b[5]]);
        }
}
)c";

std::string call(const char* function, const CNode& node, const std::string& more = "") {
  return fmt::format("{}({}, {}, {}{});", function, node.x(), node.y(),
                     product(node.output(), 0, node.output().size()), more);
}

constexpr std::size_t kRank = Shape::kMaxRank;

/// Extents with ones in front, so that there are kRank.
Extents filled_up(Extents extents) {
  extents.insert(extents.begin(), kRank - extents.size(), 1);
  return extents;
}

std::string call_binary(const char* operation, const CNode& node) {
  const auto steps = [](const Extents& extents) {
    const Extents own = filled_up(extents);
    Extents result(kRank);
    std::int64_t step = 1;
    for (std::size_t axis = kRank; axis-- > 0; step *= own[axis]) result[axis] = own[axis] == 1 ? 0 : step;
    return listed(result);
  };
  return fmt::format(
      "{{\n    static const int extents[] = {{{}}}, a[] = {{{}}}, b[] = {{{}}};\n    binary({}, {}, {}, {}, "
      "extents, "
      "a, b);\n  }}",
      listed(filled_up(node.output())), steps(node.extents(0)), steps(node.extents(1)), operation, node.x(0),
      node.x(1), node.y());
}

constexpr COperation kElementwiseOperations[] = {
    {"Relu", kRelu, [](const CNode& node) { return call("relu", node); }, true},
    {"HardSigmoid", kHardSigmoid,
     [](const CNode& node) {
       return call(
           "hard_sigmoid", node,
           fmt::format(", {}, {}", c_number(node.real("alpha", 0.2f)), c_number(node.real("beta", 0.5f))));
     },
     true},
    {"Sigmoid", kSigmoid, [](const CNode& node) { return call("sigmoid", node); }, true},
    {"Tanh", kTanh, [](const CNode& node) { return call("hyperbolic_tangent", node); }, true},
    {"Erf", kErf, [](const CNode& node) { return call("error_function", node); }, true},
    {"Sqrt", kSqrt, [](const CNode& node) { return call("root", node); }, true},
    {"Softplus", kSoftplus, [](const CNode& node) { return call("softplus", node); }, true},
    {"Elu", kElu, [](const CNode& node) { return call("elu", node, ", " + c_number(node.real("alpha", 1))); },
     true},
    {"LeakyRelu", kLeakyRelu,
     [](const CNode& node) { return call("leaky_relu", node, ", " + c_number(node.real("alpha", 0.01f))); },
     true},
    {"Add", kBinary, [](const CNode& node) { return call_binary("ADD", node); }},
    {"Sub", kBinary, [](const CNode& node) { return call_binary("SUBTRACT", node); }},
    {"Mul", kBinary, [](const CNode& node) { return call_binary("MULTIPLY", node); }},
    {"Div", kBinary, [](const CNode& node) { return call_binary("DIVIDE", node); }},
    {"Pow", kBinary, [](const CNode& node) { return call_binary("POWER", node); }},
    {"Max", kBinary, [](const CNode& node) { return call_binary("LARGER", node); }},
    {"PRelu", kBinary, [](const CNode& node) { return call_binary("PRELU", node); }},
};

}  // namespace

std::span<const COperation> elementwise_operations() { return kElementwiseOperations; }

}  // namespace trainer
