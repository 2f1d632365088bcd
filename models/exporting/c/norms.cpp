// Normalizations and Softmax.
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kBatchNorm = R"c(
static void batch_norm(const float *x, const float *weight, const float *bias, const float *mean,
                       const float *variance, float *y, int channels, int positions, float epsilon)
{
  for (int c = 0; c < channels; ++c) {
    const float scale = weight[c] / sqrtf(variance[c] + epsilon), shift = bias[c] - mean[c] * scale;
    for (int i = 0; i < positions; ++i) *y++ = *x++ * scale + shift;
  }
}
)c";

constexpr std::string_view kNormalize = R"c(
/* Each line to mean 0 and variance 1, then scaled and shifted: by the factors of its elements, or by its own. */
static void normalize(const float *x, const float *weight, const float *bias, float *y, int lines, int count,
                      float epsilon, int by_line)
{
  for (int line = 0; line < lines; ++line, x += count, y += count) {
    double mean = 0.0, variance = 0.0;
    float factor;
    for (int i = 0; i < count; ++i) mean += x[i];
    mean /= count;
    for (int i = 0; i < count; ++i) variance += (x[i] - mean) * (x[i] - mean);
    factor = (float)(1.0 / sqrt(variance / count + epsilon));
    for (int i = 0; i < count; ++i) {
      const int at = by_line ? line : i;
      y[i] = (x[i] - (float)mean) * factor * weight[at] + (bias ? bias[at] : 0.0f);
    }
  }
}
)c";

constexpr std::string_view kSoftmax = R"c(
static void softmax(const float *x, float *y, int outer, int count, int inner)
{
  for (int o = 0; o < outer; ++o, x += count * inner, y += count * inner)
    for (int i = 0; i < inner; ++i) {
      float highest = x[i], sum = 0.0f;
      for (int k = 1; k < count; ++k)
        if (!(x[k * inner + i] <= highest)) highest = x[k * inner + i];
      for (int k = 0; k < count; ++k) sum += y[k * inner + i] = expf(x[k * inner + i] - highest);
      for (int k = 0; k < count; ++k) y[k * inner + i] /= sum;
    }
}
)c";

constexpr float kEpsilon = 1e-5f;

std::string call_batch_norm(const CNode& node) {
  const Extents& x = node.extents();
  return fmt::format("batch_norm({}, {}, {}, {}, {}, {}, {}, {}, {});", node.x(0), node.x(1), node.x(2),
                     node.x(3), node.x(4), node.y(), x[1], product(x, 2, x.size()),
                     c_number(node.real("epsilon", kEpsilon)));
}

std::string normalize(const CNode& node, std::int64_t lines, std::int64_t count, bool by_line) {
  return fmt::format("normalize({}, {}, {}, {}, {}, {}, {}, {});", node.x(0), node.x(1), node.x(2), node.y(),
                     lines, count, c_number(node.real("epsilon", kEpsilon)), by_line ? 1 : 0);
}

std::string call_instance_norm(const CNode& node) {
  const Extents& x = node.extents();
  return normalize(node, x[1], product(x, 2, x.size()), true);
}

std::string call_layer_norm(const CNode& node) {
  const Extents& x = node.extents();
  return normalize(node, product(x, 0, x.size() - 1), x.back(), false);
}

std::string call_softmax(const CNode& node) {
  const Extents& x = node.extents();
  const auto axis = static_cast<std::size_t>(node.integer("axis"));
  return fmt::format("softmax({}, {}, {}, {}, {});", node.x(), node.y(), product(x, 0, axis), x[axis],
                     product(x, axis + 1, x.size()));
}

constexpr COperation kOperations[] = {
    {"BatchNormalization", kBatchNorm, call_batch_norm, true},
    {"InstanceNormalization", kNormalize, call_instance_norm, true},
    {"LayerNormalization", kNormalize, call_layer_norm, true},
    {"Softmax", kSoftmax, call_softmax, true},
};

}  // namespace

std::span<const COperation> norm_operations() { return kOperations; }

}  // namespace trainer
