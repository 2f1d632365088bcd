// MaxPool, AveragePool, GlobalAveragePool, ReduceMean and Resize.
#include <fmt/format.h>

#include <cmath>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kMaxPool = R"c(
static void max_pool(const float *x, float *y, int channels, int height, int width, int out_height, int out_width,
                     int size_h, int size_w, int stride_h, int stride_w, int pad_h, int pad_w)
{
  for (int c = 0; c < channels; ++c, x += height * width)
    for (int h = 0; h < out_height; ++h)
      for (int w = 0; w < out_width; ++w) {
        float best = -INFINITY;
        for (int i = h * stride_h - pad_h; i < h * stride_h - pad_h + size_h; ++i)
          for (int j = w * stride_w - pad_w; j < w * stride_w - pad_w + size_w; ++j)
            if (i >= 0 && i < height && j >= 0 && j < width && !(x[i * width + j] <= best)) best = x[i * width + j];
        *y++ = best;
      }
}
)c";

constexpr std::string_view kAveragePool = R"c(
static void average_pool(const float *x, float *y, int channels, int height, int width, int out_height, int out_width,
                         int size_h, int size_w, int stride_h, int stride_w, int pad_h, int pad_w, int include_padding)
{
  for (int c = 0; c < channels; ++c, x += height * width)
    for (int h = 0; h < out_height; ++h)
      for (int w = 0; w < out_width; ++w) {
        float sum = 0.0f;
        int count = 0;
        for (int i = h * stride_h - pad_h; i < h * stride_h - pad_h + size_h; ++i)
          for (int j = w * stride_w - pad_w; j < w * stride_w - pad_w + size_w; ++j)
            if (i >= 0 && i < height && j >= 0 && j < width) {
              sum += x[i * width + j];
              ++count;
            }
        *y++ = sum / (float)(include_padding ? size_h * size_w : count);
      }
}
)c";

constexpr std::string_view kMean = R"c(
static void mean(const float *x, float *y, int outer, int count, int inner)
{
  for (int o = 0; o < outer; ++o, x += count * inner)
    for (int i = 0; i < inner; ++i) {
      double sum = 0.0;
      for (int k = 0; k < count; ++k) sum += x[k * inner + i];
      *y++ = (float)(sum / count);
    }
}
)c";

constexpr std::string_view kResize = R"c(
static void resize(const float *x, float *y, int channels, int height, int width, int factor_h, int factor_w, int linear)
{
  for (int c = 0; c < channels; ++c, x += height * width)
    for (int h = 0; h < height * factor_h; ++h)
      for (int w = 0; w < width * factor_w; ++w) {
        float down = ((float)h + 0.5f) / (float)factor_h - 0.5f, right = ((float)w + 0.5f) / (float)factor_w - 0.5f;
        int top, left, bottom, next;
        if (!linear) {
          *y++ = x[h / factor_h * width + w / factor_w];
          continue;
        }
        if (down < 0.0f) down = 0.0f;
        if (right < 0.0f) right = 0.0f;
        top = (int)down;
        left = (int)right;
        bottom = top + 1 < height ? top + 1 : top;
        next = left + 1 < width ? left + 1 : left;
        down -= (float)top;
        right -= (float)left;
        *y++ = (1.0f - down) * ((1.0f - right) * x[top * width + left] + right * x[top * width + next]) +
               down * ((1.0f - right) * x[bottom * width + left] + right * x[bottom * width + next]);
      }
}
)c";

/// From "channels" to "pad_w" of a pooling function.
std::string windows(const CNode& node) {
  const Extents &x = node.extents(), &y = node.output(), kernel = node.integers("kernel_shape", {}),
                strides = node.integers("strides", {1, 1}), pads = node.integers("pads", {0, 0, 0, 0});
  const std::int64_t numbers[] = {x[1],      x[2],       x[3],       y[2],    y[3],   kernel[0],
                                  kernel[1], strides[0], strides[1], pads[0], pads[1]};
  return listed(numbers);
}

std::string call_max_pool(const CNode& node) {
  return fmt::format("max_pool({}, {}, {});", node.x(), node.y(), windows(node));
}

std::string call_average_pool(const CNode& node) {
  return fmt::format("average_pool({}, {}, {}, {});", node.x(), node.y(), windows(node),
                     node.integer("count_include_pad"));
}

std::string call_global_average_pool(const CNode& node) {
  const Extents& x = node.extents();
  return fmt::format("mean({}, {}, {}, {}, 1);", node.x(), node.y(), product(x, 0, 2),
                     product(x, 2, x.size()));
}

/// Over axes that follow each other.
std::string call_reduce_mean(const CNode& node) {
  const Extents& x = node.extents();
  const std::vector<std::int64_t> axes = node.integers("axes", {});
  const auto first = static_cast<std::size_t>(axes.front()), end = static_cast<std::size_t>(axes.back() + 1);
  return fmt::format("mean({}, {}, {}, {}, {});", node.x(), node.y(), product(x, 0, first),
                     product(x, first, end), product(x, end, x.size()));
}

std::string call_resize(const CNode& node) {
  const Extents &x = node.extents(), &y = node.output();
  return fmt::format("resize({}, {}, {}, {}, {}, {}, {}, {});", node.x(), node.y(), x[1], x[2], x[3],
                     y[2] / x[2], y[3] / x[3], node.word("mode", "nearest") == "linear" ? 1 : 0);
}

constexpr COperation kPoolingOperations[] = {
    {"MaxPool", kMaxPool, call_max_pool},
    {"AveragePool", kAveragePool, call_average_pool},
    {"GlobalAveragePool", kMean, call_global_average_pool},
    {"ReduceMean", kMean, call_reduce_mean},
    {"Resize", kResize, call_resize, false, 1},
};

}  // namespace

std::span<const COperation> pooling_operations() { return kPoolingOperations; }

}  // namespace trainer
