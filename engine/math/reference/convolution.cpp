#include "engine/math/convolution.h"

#include <vector>

#include "engine/math/elementwise.h"

namespace trainer::reference {
namespace {

class PlainConvolution final : public Convolution {
 public:
  explicit PlainConvolution(const ConvolutionGeometry& geometry) : g_(geometry) {}

  std::int64_t scratch_size() const override { return 0; }
  std::string kernel() const override { return "reference"; }

  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float*) const override {
    const std::int64_t count = images * g_.out_height() * g_.out_width() * g_.filters;
    std::vector<double> sums(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      sums[static_cast<std::size_t>(i)] = bias ? static_cast<double>(bias[i % g_.filters]) : 0;
    for_each_product(images, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
      sums[static_cast<std::size_t>(out)] += static_cast<double>(x[in]) * static_cast<double>(w[weight]);
    });
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(sums[static_cast<std::size_t>(i)]);
    reference::activate(activation, count, y, y);
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx, float*) const override {
    const std::int64_t count = images * g_.height * g_.width * g_.channels;
    std::vector<double> sums(static_cast<std::size_t>(count));
    for_each_product(images, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
      sums[static_cast<std::size_t>(in)] += static_cast<double>(dy[out]) * static_cast<double>(w[weight]);
    });
    for (std::int64_t i = 0; i < count; ++i) dx[i] = static_cast<float>(sums[static_cast<std::size_t>(i)]);
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float*) const override {
    const std::int64_t count = g_.kernel_h * g_.kernel_w * (g_.channels / g_.groups) * g_.filters;
    std::vector<double> sums(static_cast<std::size_t>(count));
    for_each_product(images, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
      sums[static_cast<std::size_t>(weight)] += static_cast<double>(x[in]) * static_cast<double>(dy[out]);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const float sum = static_cast<float>(sums[static_cast<std::size_t>(i)]);
      dw[i] = accumulate ? dw[i] + sum : sum;
    }
    if (dbias)
      reference::column_sums(images * g_.out_height() * g_.out_width(), g_.filters, dy, accumulate, dbias);
  }

 private:
  /// Calls body(index in x, index in w, index in y) for every product of the convolution.
  template <class Body>
  void for_each_product(std::int64_t images, Body body) const {
    const std::int64_t out_h = g_.out_height(), out_w = g_.out_width();
    const std::int64_t group_channels = g_.channels / g_.groups, group_filters = g_.filters / g_.groups;
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t oy = 0; oy < out_h; ++oy)
        for (std::int64_t ox = 0; ox < out_w; ++ox)
          for (std::int64_t ky = 0; ky < g_.kernel_h; ++ky)
            for (std::int64_t kx = 0; kx < g_.kernel_w; ++kx) {
              const std::int64_t iy = oy * g_.stride_h - g_.pad_h + ky * g_.dilation_h;
              const std::int64_t ix = ox * g_.stride_w - g_.pad_w + kx * g_.dilation_w;
              if (iy < 0 || iy >= g_.height || ix < 0 || ix >= g_.width) continue;
              for (std::int64_t c = 0; c < group_channels; ++c)
                for (std::int64_t f = 0; f < g_.filters; ++f)
                  body(((image * g_.height + iy) * g_.width + ix) * g_.channels +
                           f / group_filters * group_channels + c,
                       ((ky * g_.kernel_w + kx) * group_channels + c) * g_.filters + f,
                       ((image * out_h + oy) * out_w + ox) * g_.filters + f);
            }
  }

  ConvolutionGeometry g_;
};

}  // namespace

std::unique_ptr<Convolution> make_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<PlainConvolution>(geometry);
}

}  // namespace trainer::reference
