#include "engine/math/bfloat16_convolution.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/math/direct_convolution.h"
#include "engine/math/elementwise.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

constexpr std::int64_t kPairsAtOnce = 1 << 15;  // of x and dy, for images whose dw is summed together
constexpr std::int64_t kMaxImages = 8;

/// With half the inputs, each of which holds two.
ConvolutionGeometry with_paired_inputs(ConvolutionGeometry geometry) {
  geometry.channels /= 2;
  return geometry;
}

ConvolutionGeometry with_paired_filters(ConvolutionGeometry geometry) {
  geometry.filters /= 2;
  return geometry;
}

/// With half the output columns, rounded up: pixel p of x holds pixels p and p + stride of the padded image.
ConvolutionGeometry with_paired_columns(ConvolutionGeometry geometry) {
  const std::int64_t columns = (geometry.out_width() + 1) / 2;
  geometry.stride_w *= 2;
  geometry.pad_w = 0;
  geometry.width = (columns - 1) * geometry.stride_w + geometry.dilation_w * (geometry.kernel_w - 1) + 1;
  return geometry;
}

class Bfloat16Convolution final : public Convolution {
 public:
  explicit Bfloat16Convolution(const ConvolutionGeometry& geometry)
      : g_(geometry),
        kernels_(bfloat16_kernels()),
        pairs_inputs_(g_.channels / g_.groups % 2 == 0),
        pairs_filters_(g_.filters / g_.groups % 2 == 0),
        of_columns_(with_paired_columns(g_)),
        forward_(pairs_inputs_ ? on_pairs(with_paired_inputs(g_)) : make_direct_convolution(g_)),
        data_(pairs_filters_ ? on_pairs(with_paired_filters(g_)) : make_direct_convolution(g_)),
        weights_(on_pairs(of_columns_)),
        images_at_once_(std::clamp<std::int64_t>(kPairsAtOnce / (column_pairs_of_x() + column_pairs_of_dy()),
                                                 1, kMaxImages)) {}

  std::int64_t scratch_size() const override {
    return std::max({forward_->scratch_size() + (in_size() + weight_size()) / 2,
                     data_->scratch_size() + (out_size() + weight_size()) / 2,
                     weights_->scratch_size() + padded_row() +
                         images_at_once_ * (column_pairs_of_x() + column_pairs_of_dy())});
  }

  std::string kernel() const override { return weights_->kernel() + " bf16"; }

  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float* scratch) const override {
    if (!pairs_inputs_) return forward_->forward(images, x, w, bias, activation, y, scratch);
    float* const weights = scratch;
    float* const inputs = weights + weight_size() / 2;
    const std::int64_t inputs_of_w = weight_size() / g_.filters;
    for (std::int64_t input = 0; input < inputs_of_w; input += 2)
      kernels_.pair_rows(g_.filters, w + input * g_.filters, w + (input + 1) * g_.filters,
                         weights + input / 2 * g_.filters);
    for (std::int64_t image = 0; image < images; ++image) {
      kernels_.pair_columns(in_size(), x + image * in_size(), inputs);
      forward_->forward(1, inputs, weights, bias, activation, y + image * out_size(), inputs + in_size() / 2);
    }
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                     float* scratch) const override {
    if (!pairs_filters_) return data_->backward_data(images, dy, w, dx, scratch);
    float* const weights = scratch;
    float* const gradients = weights + weight_size() / 2;
    kernels_.pair_columns(weight_size(), w, weights);
    for (std::int64_t image = 0; image < images; ++image) {
      kernels_.pair_columns(out_size(), dy + image * out_size(), gradients);
      data_->backward_data(1, gradients, weights, dx + image * in_size(), gradients + out_size() / 2);
    }
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float* scratch) const override {
    if (dbias) column_sums(images * out_size() / g_.filters, g_.filters, dy, accumulate, dbias);
    float* const row = scratch;
    float* const inputs = row + padded_row();
    float* const gradients = inputs + images_at_once_ * column_pairs_of_x();
    for (std::int64_t first = 0; first < images; first += images_at_once_) {
      const std::int64_t some = std::min(images_at_once_, images - first);
      for (std::int64_t image = 0; image < some; ++image) {
        pair_inputs(x + (first + image) * in_size(), row, inputs + image * column_pairs_of_x());
        pair_gradients(dy + (first + image) * out_size(), gradients + image * column_pairs_of_dy());
      }
      weights_->backward_weights(some, inputs, gradients, dw, nullptr, accumulate || first > 0,
                                 gradients + images_at_once_ * column_pairs_of_dy());
    }
    if (images == 0 && !accumulate) std::fill_n(dw, weight_size(), 0.0f);
  }

 private:
  static std::unique_ptr<Convolution> on_pairs(const ConvolutionGeometry& geometry) {
    return make_direct_convolution(geometry, *bfloat16_kernels().convolution, true);
  }

  std::int64_t in_size() const { return g_.height * g_.width * g_.channels; }
  std::int64_t out_size() const { return g_.out_height() * g_.out_width() * g_.filters; }
  std::int64_t weight_size() const {
    return g_.kernel_h * g_.kernel_w * g_.channels / g_.groups * g_.filters;
  }
  std::int64_t column_pairs_of_x() const { return g_.height * of_columns_.width * g_.channels; }
  std::int64_t column_pairs_of_dy() const { return g_.out_height() * of_columns_.out_width() * g_.filters; }
  /// A row of x between zeros, as long as the pairs reach.
  std::int64_t padded_row() const {
    return (g_.pad_w + std::max(g_.width, of_columns_.width + g_.stride_w)) * g_.channels;
  }

  void pair_inputs(const float* x, float* row, float* pairs) const {
    const std::int64_t before = g_.pad_w * g_.channels, within = g_.width * g_.channels;
    const std::int64_t count = of_columns_.width * g_.channels;
    std::fill_n(row, padded_row(), 0.0f);
    for (std::int64_t y = 0; y < g_.height; ++y, pairs += count) {
      std::copy_n(x + y * within, within, row + before);
      kernels_.pair_rows(count, row, row + g_.stride_w * g_.channels, pairs);
    }
  }

  void pair_gradients(const float* dy, float* pairs) const {
    const std::int64_t columns = g_.out_width();
    for (std::int64_t y = 0; y < g_.out_height(); ++y, dy += columns * g_.filters)
      for (std::int64_t column = 0; column < columns; column += 2, pairs += g_.filters) {
        const float* const even = dy + column * g_.filters;
        kernels_.pair_rows(g_.filters, even, column + 1 < columns ? even + g_.filters : nullptr, pairs);
      }
  }

  ConvolutionGeometry g_;
  const Bfloat16Kernels& kernels_;
  bool pairs_inputs_, pairs_filters_;
  ConvolutionGeometry of_columns_;
  std::unique_ptr<Convolution> forward_, data_, weights_;
  std::int64_t images_at_once_;
};

}  // namespace

std::unique_ptr<Convolution> make_bfloat16_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<Bfloat16Convolution>(geometry);
}

}  // namespace trainer
