// Conv and ConvTranspose, over maps and along sequences.
#include <fmt/format.h>

#include "models/exporting/c/operation.h"

namespace trainer {
namespace {

constexpr std::string_view kConv = R"c(
/* The first position in [0, count) whose tap at position * stride + offset is not before 0, and the one after the
   last whose tap is before `inputs`. */
static int first_tap(int offset, int stride) { return offset >= 0 ? 0 : (stride - 1 - offset) / stride; }
static int end_of_taps(int offset, int stride, int inputs, int count)
{
  const int end = inputs - offset <= 0 ? 0 : (inputs - offset - 1) / stride + 1;
  return end < count ? end : count;
}

static void conv(const float *x, const float *weight, const float *bias, float *y, int channels, int height, int width,
                 int filters, int out_height, int out_width, int kernel_h, int kernel_w, int stride_h, int stride_w,
                 int pad_h, int pad_w, int dilation_h, int dilation_w, int groups)
{
  const int inputs = channels / groups;
  for (int f = 0; f < filters; ++f, y += out_height * out_width) {
    const float *map = x + f / (filters / groups) * inputs * height * width;
    for (int i = 0; i < out_height * out_width; ++i) y[i] = bias ? bias[f] : 0.0f;
    for (int c = 0; c < inputs; ++c, map += height * width)
      for (int kh = 0; kh < kernel_h; ++kh)
        for (int kw = 0; kw < kernel_w; ++kw) {
          const float w = *weight++;
          const int down = kh * dilation_h - pad_h, right = kw * dilation_w - pad_w;
          const int last_h = end_of_taps(down, stride_h, height, out_height);
          const int last_w = end_of_taps(right, stride_w, width, out_width);
          for (int h = first_tap(down, stride_h); h < last_h; ++h)
            for (int o = first_tap(right, stride_w); o < last_w; ++o)
              y[h * out_width + o] += w * map[(h * stride_h + down) * width + o * stride_w + right];
        }
  }
}
)c";

constexpr std::string_view kConvTranspose = R"c(
static void conv_transpose(const float *x, const float *weight, const float *bias, float *y, int channels, int height,
                           int width, int filters, int out_height, int out_width, int kernel_h, int kernel_w,
                           int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups)
{
  const int outputs = filters / groups, size = out_height * out_width;
  for (int f = 0; f < filters; ++f)
    for (int i = 0; i < size; ++i) y[f * size + i] = bias ? bias[f] : 0.0f;
  for (int c = 0; c < channels; ++c, x += height * width)
    for (int f = 0; f < outputs; ++f) {
      float *map = y + (c / (channels / groups) * outputs + f) * size;
      for (int kh = 0; kh < kernel_h; ++kh)
        for (int kw = 0; kw < kernel_w; ++kw) {
          const float w = *weight++;
          for (int h = 0; h < height; ++h)
            for (int i = 0; i < width; ++i) {
              const int down = h * stride_h - pad_h + kh * dilation_h, right = i * stride_w - pad_w + kw * dilation_w;
              if (down >= 0 && down < out_height && right >= 0 && right < out_width)
                map[down * out_width + right] += w * x[h * width + i];
            }
        }
    }
}
)c";

/// A sequence (C, T) is a map of width 1.
template <class Integers>
Integers in_two_extents(Integers values, std::int64_t second) {
  if (values.size() == 1) values.push_back(second);
  return values;
}

std::string call_convolution(const CNode& node, const char* function) {
  const Extents x = in_two_extents(Extents(node.extents().begin() + 2, node.extents().end()), 1);
  const Extents y = in_two_extents(Extents(node.output().begin() + 2, node.output().end()), 1);
  const Extents ones(node.extents().size() - 2, 1), zeros(2 * ones.size(), 0);
  Extents pads = node.integers("pads", zeros);
  pads.resize(ones.size());
  const Extents kernel(node.extents(1).begin() + 2, node.extents(1).end());
  Extents numbers{node.extents()[1], x[0], x[1], node.output()[1], y[0], y[1]};
  const auto append = [&](const Extents& values) {
    numbers.insert(numbers.end(), values.begin(), values.end());
  };
  append(in_two_extents(kernel, 1));
  append(in_two_extents(node.integers("strides", ones), 1));
  append(in_two_extents(pads, 0));
  append(in_two_extents(node.integers("dilations", ones), 1));
  append({node.integer("group", 1)});
  return fmt::format("{}({}, {}, {}, {}, {});", function, node.x(), node.x(1), node.x(2), node.y(),
                     listed(numbers));
}

constexpr COperation kOperations[] = {
    {"Conv", kConv, [](const CNode& node) { return call_convolution(node, "conv"); }},
    {"ConvTranspose", kConvTranspose,
     [](const CNode& node) { return call_convolution(node, "conv_transpose"); }},
};

}  // namespace

std::span<const COperation> convolution_operations() { return kOperations; }

}  // namespace trainer
