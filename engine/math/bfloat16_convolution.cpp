#include "engine/math/bfloat16_convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "engine/math/direct_convolution.h"
#include "engine/math/elementwise.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

// Of images that share packed weights: as many as the L2 cache holds.
constexpr std::int64_t kSharingPairs = 1 << 17;
// Of x and dy whose dw is summed before memory sees it.
constexpr std::int64_t kSummedPairs = 1 << 15;

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
        sharing_images_(std::max<std::int64_t>(1, 2 * kSharingPairs / std::max(in_size(), out_size()))),
        summed_images_(
            std::max<std::int64_t>(1, kSummedPairs / (column_pairs_of_x() + column_pairs_of_dy()))) {}

  std::int64_t scratch_size() const override {
    return std::max({forward_->scratch_size() + (sharing_images_ * in_size() + weight_size()) / 2,
                     data_->scratch_size() + (sharing_images_ * out_size() + weight_size()) / 2,
                     weights_->scratch_size() + of_columns_.width * g_.channels +
                         summed_images_ * (column_pairs_of_x() + column_pairs_of_dy())});
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
    for (std::int64_t first = 0; first < images; first += sharing_images_) {
      const std::int64_t some = std::min(sharing_images_, images - first);
      kernels_.pair_columns(some * in_size(), x + first * in_size(), inputs);
      forward_->forward(some, inputs, weights, bias, activation, y + first * out_size(),
                        inputs + sharing_images_ * in_size() / 2);
    }
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                     float* scratch) const override {
    if (!pairs_filters_) return data_->backward_data(images, dy, w, dx, scratch);
    float* const weights = scratch;
    float* const gradients = weights + weight_size() / 2;
    kernels_.pair_columns(weight_size(), w, weights);
    for (std::int64_t first = 0; first < images; first += sharing_images_) {
      const std::int64_t some = std::min(sharing_images_, images - first);
      kernels_.pair_columns(some * out_size(), dy + first * out_size(), gradients);
      data_->backward_data(some, gradients, weights, dx + first * in_size(),
                           gradients + sharing_images_ * out_size() / 2);
    }
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float* scratch) const override {
    if (dbias) column_sums(images * out_size() / g_.filters, g_.filters, dy, accumulate, dbias);
    float* const zeros = scratch;
    float* const inputs = std::fill_n(zeros, of_columns_.width * g_.channels, 0.0f);
    float* const gradients = inputs + summed_images_ * column_pairs_of_x();
    for (std::int64_t first = 0; first < images; first += summed_images_) {
      const std::int64_t some = std::min(summed_images_, images - first);
      for (std::int64_t image = 0; image < some; ++image) {
        pair_inputs(x + (first + image) * in_size(), zeros, inputs + image * column_pairs_of_x());
        pair_gradients(dy + (first + image) * out_size(), gradients + image * column_pairs_of_dy());
      }
      weights_->backward_weights(some, inputs, gradients, dw, nullptr, accumulate || first > 0,
                                 gradients + summed_images_ * column_pairs_of_dy());
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

  /// In a row of the padded image, pixel p and the one under the next output; `zeros` are a row of them.
  void pair_inputs(const float* x, const float* zeros, float* pairs) const {
    const std::int64_t first = g_.pad_w, last = first + g_.width, next = g_.stride_w;
    // Between these columns both pixels lie inside, or one, or none.
    std::array<std::int64_t, 6> borders{0, first - next, first, last - next, last, of_columns_.width};
    for (std::int64_t& border : borders) border = std::clamp<std::int64_t>(border, 0, of_columns_.width);
    std::ranges::sort(borders);
    for (std::int64_t y = 0; y < g_.height; ++y, x += g_.width * g_.channels)
      for (std::size_t part = 1; part < borders.size(); ++part) {
        const std::int64_t column = borders[part - 1], count = (borders[part] - column) * g_.channels;
        const auto pixels = [&](std::int64_t at) {
          return at >= first && at < last ? x + (at - first) * g_.channels : nullptr;
        };
        const float* const even = pixels(column);
        kernels_.pair_rows(count, even ? even : zeros, pixels(column + next), pairs);
        pairs += count;
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
  std::int64_t sharing_images_, summed_images_;
};

}  // namespace

std::unique_ptr<Convolution> make_bfloat16_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<Bfloat16Convolution>(geometry);
}

}  // namespace trainer
