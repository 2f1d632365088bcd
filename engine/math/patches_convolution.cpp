#include "engine/math/patches_convolution.h"

#include <algorithm>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"

namespace trainer {
namespace {

class PatchesConvolution final : public Convolution {
 public:
  explicit PatchesConvolution(const ConvolutionGeometry& geometry)
      : g_(geometry),
        out_h_(g_.out_height()),
        out_w_(g_.out_width()),
        group_channels_(g_.channels / g_.groups),
        group_filters_(g_.filters / g_.groups),
        patch_(g_.kernel_h * g_.kernel_w * group_channels_),
        in_place_(g_.kernel_h == 1 && g_.kernel_w == 1 && g_.stride_h == 1 && g_.stride_w == 1 &&
                  g_.pad_h == 0 && g_.pad_w == 0 && g_.groups == 1) {}

  std::int64_t scratch_size() const override { return in_place_ ? 0 : out_h_ * out_w_ * patch_; }
  std::string kernel() const override { return "patches"; }

  // One image at a time: its bits must not depend on how many others come with it.
  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float* scratch) const override {
    for (std::int64_t image = 0; image < images; ++image, x += in_size(), y += out_size()) {
      for (std::int64_t group = 0; group < g_.groups; ++group)
        gemm(Transpose::no, Transpose::no, pixels(), group_filters_, patch_, gather(x, group, scratch),
             patch_, w + group * group_filters_, g_.filters, 0, y + group * group_filters_, g_.filters);
      if (bias || activation != Activation::none) bias_activate(activation, pixels(), g_.filters, y, bias, y);
    }
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                     float* scratch) const override {
    for (std::int64_t image = 0; image < images; ++image, dy += out_size(), dx += in_size()) {
      if (!in_place_) std::fill_n(dx, in_size(), 0.0f);
      for (std::int64_t group = 0; group < g_.groups; ++group) {
        gemm(Transpose::no, Transpose::yes, pixels(), patch_, group_filters_, dy + group * group_filters_,
             g_.filters, w + group * group_filters_, g_.filters, 0, in_place_ ? dx : scratch, patch_);
        if (!in_place_) scatter(scratch, group, dx);
      }
    }
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float* scratch) const override {
    if (dbias) column_sums(images * pixels(), g_.filters, dy, accumulate, dbias);
    if (!accumulate) std::fill_n(dw, patch_ * g_.filters, 0.0f);
    for (std::int64_t image = 0; image < images; ++image, x += in_size(), dy += out_size())
      for (std::int64_t group = 0; group < g_.groups; ++group)
        gemm(Transpose::yes, Transpose::no, patch_, group_filters_, pixels(), gather(x, group, scratch),
             patch_, dy + group * group_filters_, g_.filters, 1, dw + group * group_filters_, g_.filters);
  }

 private:
  std::int64_t pixels() const { return out_h_ * out_w_; }
  std::int64_t in_size() const { return g_.height * g_.width * g_.channels; }
  std::int64_t out_size() const { return pixels() * g_.filters; }

  /// Calls body(patch values, image values or -1 outside) for each run of a group's channels.
  template <class Body>
  void for_each_run(std::int64_t group, Body body) const {
    std::int64_t run = 0;
    for (std::int64_t oy = 0; oy < out_h_; ++oy)
      for (std::int64_t ox = 0; ox < out_w_; ++ox)
        for (std::int64_t ky = 0; ky < g_.kernel_h; ++ky)
          for (std::int64_t kx = 0; kx < g_.kernel_w; ++kx, run += group_channels_) {
            const std::int64_t iy = oy * g_.stride_h - g_.pad_h + ky * g_.dilation_h;
            const std::int64_t ix = ox * g_.stride_w - g_.pad_w + kx * g_.dilation_w;
            const bool inside = iy >= 0 && iy < g_.height && ix >= 0 && ix < g_.width;
            body(run, inside ? (iy * g_.width + ix) * g_.channels + group * group_channels_ : -1);
          }
  }

  /// Lays one group's patches of an image out as rows.
  const float* gather(const float* x, std::int64_t group, float* patches) const {
    if (in_place_) return x;
    for_each_run(group, [&](std::int64_t to, std::int64_t from) {
      if (from < 0)
        std::fill_n(patches + to, group_channels_, 0.0f);
      else
        std::copy_n(x + from, group_channels_, patches + to);
    });
    return patches;
  }

  /// The adjoint of gather: adds the patches up.
  void scatter(const float* patches, std::int64_t group, float* dx) const {
    for_each_run(group, [&](std::int64_t from, std::int64_t to) {
      if (to < 0) return;
      for (std::int64_t c = 0; c < group_channels_; ++c) dx[to + c] += patches[from + c];
    });
  }

  ConvolutionGeometry g_;
  std::int64_t out_h_, out_w_;
  std::int64_t group_channels_, group_filters_;
  std::int64_t patch_;  ///< inputs of one output
  bool in_place_;       ///< the image is its own patches
};

}  // namespace

std::unique_ptr<Convolution> make_patches_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<PatchesConvolution>(geometry);
}

}  // namespace trainer
