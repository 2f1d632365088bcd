#include "engine/math/depthwise_convolution.h"

#include <algorithm>

#include "engine/math/elementwise.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

class DepthwiseConvolution final : public Convolution {
 public:
  explicit DepthwiseConvolution(const ConvolutionGeometry& geometry)
      : g_(geometry), kernels_(*kernels().depthwise) {}

  std::int64_t scratch_size() const override { return 0; }
  std::string kernel() const override {
    return "depthwise " + std::to_string(g_.kernel_h) + "x" + std::to_string(g_.kernel_w);
  }

  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float*) const override {
    kernels_.forward(g_, images, x, w, bias, y);
    if (activation != Activation::none) activate(activation, images * out_size(), y, y);
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx, float*) const override {
    kernels_.backward_data(g_, images, dy, w, dx);
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float*) const override {
    if (dbias) column_sums(images * g_.out_height() * g_.out_width(), g_.filters, dy, accumulate, dbias);
    if (!accumulate) std::fill_n(dw, g_.kernel_h * g_.kernel_w * g_.filters, 0.0f);
    kernels_.add_weights(g_, images, x, dy, dw);
  }

 private:
  std::int64_t out_size() const { return g_.out_height() * g_.out_width() * g_.filters; }

  ConvolutionGeometry g_;
  const DepthwiseKernels& kernels_;
};

}  // namespace

std::unique_ptr<Convolution> make_depthwise_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<DepthwiseConvolution>(geometry);
}

}  // namespace trainer
