#include "engine/math/direct_convolution.h"

#include <algorithm>
#include <vector>

#include "engine/math/elementwise.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// An image with a border of zeros: extents with it, and where the image begins.
struct Bordered {
  std::int64_t height = 0, width = 0, top = 0, left = 0;

  std::int64_t pixels() const { return height * width; }
};

/// Copies `channels` of each pixel into the middle of `to`, whose pixels are `to_channels` apart; parts
/// beyond the border are left out. The rest of `to` is not touched.
void place(const float* from, std::int64_t height, std::int64_t width, std::int64_t pixel,
           std::int64_t channels, const Bordered& border, std::int64_t to_channels, float* to) {
  const std::int64_t rows = std::min(height, border.height - border.top);
  const std::int64_t columns = std::min(width, border.width - border.left);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* source = from + row * width * pixel;
    float* target = to + ((row + border.top) * border.width + border.left) * to_channels;
    if (pixel == channels && channels == to_channels)
      std::copy_n(source, columns * channels, target);
    else
      for (std::int64_t column = 0; column < columns; ++column)
        std::copy_n(source + column * pixel, channels, target + column * to_channels);
  }
}

/// The outputs dx[first], dx[first + stride], ... of one extent use the same kernel positions: first_tap,
/// first_tap - tap_stride, ... Walking them backward reads dy forward, in steps of `dy_step`.
struct Phase {
  std::int64_t first = 0, count = 0;
  std::int64_t taps = 0, last_tap = 0, tap_stride = 1;
  std::int64_t dy_first = 0, dy_step = 1;  ///< dy_first may be negative: in the border
};

Phase make_phase(std::int64_t first, std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                 std::int64_t pad, std::int64_t dilation) {
  Phase phase{.first = first, .count = (extent - first + stride - 1) / stride};
  std::int64_t first_tap = -1;
  for (std::int64_t tap = 0; tap < kernel; ++tap)
    if ((first + pad - tap * dilation) % stride == 0) {
      if (first_tap < 0) first_tap = tap;
      phase.last_tap = tap;
      ++phase.taps;
    }
  if (phase.taps == 0) return phase;
  phase.tap_stride = phase.taps > 1 ? (phase.last_tap - first_tap) / (phase.taps - 1) : 1;
  phase.dy_step = phase.tap_stride * dilation / stride;
  phase.dy_first = (first + pad - phase.last_tap * dilation) / stride;
  return phase;
}

std::vector<Phase> make_phases(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                               std::int64_t pad, std::int64_t dilation) {
  std::vector<Phase> phases;
  for (std::int64_t first = 0; first < std::min(stride, extent); ++first)
    phases.push_back(make_phase(first, extent, kernel, stride, pad, dilation));
  return phases;
}

/// How far the phases reach before dy and up to where, at least dy itself.
std::pair<std::int64_t, std::int64_t> reach(const std::vector<Phase>& phases, std::int64_t dy_extent) {
  std::int64_t before = 0, end = dy_extent;
  for (const Phase& phase : phases) {
    if (phase.taps == 0) continue;
    before = std::max(before, -phase.dy_first);
    end = std::max(end, phase.dy_first + (phase.taps - 1) * phase.dy_step + phase.count);
  }
  return {before, end};
}

class DirectConvolution final : public Convolution {
 public:
  explicit DirectConvolution(const ConvolutionGeometry& geometry)
      : g_(geometry),
        kernels_(*kernels().convolution),
        out_h_(g_.out_height()),
        out_w_(g_.out_width()),
        group_channels_(g_.channels / g_.groups),
        group_filters_(g_.filters / g_.groups),
        slope_pixel_(round_up(group_filters_, kernels_.lanes)),
        x_border_{g_.height + 2 * g_.pad_h, g_.width + 2 * g_.pad_w, g_.pad_h, g_.pad_w},
        row_phases_(make_phases(g_.height, g_.kernel_h, g_.stride_h, g_.pad_h, g_.dilation_h)),
        column_phases_(make_phases(g_.width, g_.kernel_w, g_.stride_w, g_.pad_w, g_.dilation_w)) {
    const auto [above, bottom] = reach(row_phases_, out_h_);
    const auto [before, end] = reach(column_phases_, out_w_);
    dy_border_ = {above + bottom, before + end, above, before};
    const std::int64_t image_bytes = (x_size() + slope_size()) * static_cast<std::int64_t>(sizeof(float));
    block_images_ = std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(image_bytes, 1), 1, 8);
  }

  std::int64_t scratch_size() const override {
    const std::int64_t forward = forward_weights() + slope_pixel_ + (copies_x() ? x_size() : 0);
    const std::int64_t data = data_weights() + (copies_dy() ? dy_border_.pixels() * g_.filters : 0);
    const std::int64_t weights =
        block_images_ * ((copies_x() ? x_size() : 0) + (copies_slopes() ? slope_size() : 0));
    return std::max({forward, data, weights}) + kAlignment;
  }

  std::string kernel() const override {
    return "direct " + std::to_string(g_.kernel_h) + "x" + std::to_string(g_.kernel_w);
  }

  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float* scratch) const override {
    float* const packed = aligned(scratch);
    float* const start = packed + forward_weights();
    float* const bordered = start + slope_pixel_;
    if (copies_x()) std::fill_n(bordered, x_size(), 0.0f);
    Correlation job = x_job();
    job.y_row = out_w_ * g_.filters;
    job.y_column = g_.filters;
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      const std::int64_t first = group * group_filters_;
      pack(taps(), group_filters_, packed,
           [&](std::int64_t tap, std::int64_t f) { return w[tap * g_.filters + first + f]; });
      if (bias) {
        std::fill_n(start, slope_pixel_, 0.0f);
        std::copy_n(bias + first, group_filters_, start);
      }
      for (std::int64_t image = 0; image < images; ++image) {
        const float* from = with_border(x + image * in_size(), bordered) + group * group_channels_;
        kernels_.correlate(job, from, packed, bias ? start : nullptr, activation == Activation::relu,
                           y + image * out_size() + first);
      }
    }
    if (activation != Activation::none && activation != Activation::relu)
      activate(activation, images * out_size(), y, y);
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                     float* scratch) const override {
    float* const packed = aligned(scratch);
    float* const bordered = packed + data_weights();
    if (copies_dy()) std::fill_n(bordered, dy_border_.pixels() * g_.filters, 0.0f);
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      pack_phases(w + group * group_filters_, packed);
      for (std::int64_t image = 0; image < images; ++image) {
        const float* from = dy + image * out_size();
        if (copies_dy()) {
          place(from, out_h_, out_w_, g_.filters, g_.filters, dy_border_, g_.filters, bordered);
          from = bordered;
        }
        from += group * group_filters_;
        float* to = dx + image * in_size() + group * group_channels_;
        const float* weights = packed;
        for (const Phase& row : row_phases_)
          for (const Phase& column : column_phases_) {
            const Correlation job = phase_job(row, column);
            kernels_.correlate(
                job,
                from +
                    ((row.dy_first + dy_border_.top) * dy_border_.width + column.dy_first + dy_border_.left) *
                        g_.filters,
                weights, nullptr, false, to + (row.first * g_.width + column.first) * g_.channels);
            weights += row.taps * column.taps * group_filters_ * packed_channels();
          }
      }
    }
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float* scratch) const override {
    if (dbias) column_sums(images * out_h_ * out_w_, g_.filters, dy, accumulate, dbias);
    if (!accumulate) std::fill_n(dw, taps() * g_.filters, 0.0f);
    float* const bordered = aligned(scratch);
    float* const slopes = bordered + (copies_x() ? block_images_ * x_size() : 0);
    if (copies_x()) std::fill_n(bordered, block_images_ * x_size(), 0.0f);
    if (copies_slopes()) std::fill_n(slopes, block_images_ * slope_size(), 0.0f);
    Correlation job = x_job();
    job.y_column = copies_slopes() ? slope_pixel_ : g_.filters;
    job.y_row = out_w_ * job.y_column;
    for (std::int64_t first = 0; first < images; first += block_images_) {
      ImageBlock block{.images = std::min(block_images_, images - first),
                       .x_image = copies_x() ? x_size() : in_size(),
                       .dy_image = copies_slopes() ? slope_size() : out_size()};
      const float* from = x + first * in_size();
      if (copies_x()) {
        for (std::int64_t i = 0; i < block.images; ++i)
          with_border(from + i * in_size(), bordered + i * x_size());
        from = bordered;
      }
      for (std::int64_t group = 0; group < g_.groups; ++group) {
        const float* slope = dy + first * out_size() + group * group_filters_;
        if (copies_slopes()) {
          for (std::int64_t i = 0; i < block.images; ++i)
            place(slope + i * out_size(), out_h_, out_w_, g_.filters, group_filters_, {out_h_, out_w_},
                  slope_pixel_, slopes + i * slope_size());
          slope = slopes;
        }
        kernels_.add_products(job, block, from + group * group_channels_, slope, dw + group * group_filters_,
                              g_.filters);
      }
    }
  }

 private:
  static constexpr std::int64_t kAlignment = 16;        ///< floats of a cache line
  static constexpr std::int64_t kBlockBytes = 1 << 18;  ///< half of a usual L2 cache

  static float* aligned(float* scratch) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch) / sizeof(float);
    return scratch + (kAlignment - static_cast<std::int64_t>(address % kAlignment)) % kAlignment;
  }

  std::int64_t in_size() const { return g_.height * g_.width * g_.channels; }
  std::int64_t out_size() const { return out_h_ * out_w_ * g_.filters; }
  std::int64_t x_size() const { return x_border_.pixels() * g_.channels; }
  std::int64_t slope_size() const { return out_h_ * out_w_ * slope_pixel_; }
  std::int64_t taps() const { return g_.kernel_h * g_.kernel_w * group_channels_; }
  std::int64_t packed_channels() const { return round_up(group_channels_, kernels_.lanes); }
  std::int64_t forward_weights() const { return taps() * slope_pixel_; }
  std::int64_t data_weights() const { return g_.kernel_h * g_.kernel_w * group_filters_ * packed_channels(); }
  bool copies_x() const { return g_.pad_h > 0 || g_.pad_w > 0; }
  bool copies_dy() const { return dy_border_.height != out_h_ || dy_border_.width != out_w_; }
  bool copies_slopes() const { return group_filters_ % kernels_.lanes != 0; }

  const float* with_border(const float* x, float* bordered) const {
    if (!copies_x()) return x;
    place(x, g_.height, g_.width, g_.channels, g_.channels, x_border_, g_.channels, bordered);
    return bordered;
  }

  /// How outputs and inputs belong together; y's distances are left open.
  Correlation x_job() const {
    const std::int64_t row = x_border_.width * g_.channels;
    Correlation job{.rows = out_h_, .columns = out_w_, .x_row = g_.stride_h * row};
    job.x_column = g_.stride_w * g_.channels;
    job.tap_rows = g_.kernel_h;
    job.tap_row = g_.dilation_h * row;
    job.tap_columns = g_.kernel_w;
    job.tap_column = g_.dilation_w * g_.channels;
    job.run = group_channels_;
    job.filters = group_filters_;
    return with_merged_runs(job);
  }

  /// dx as the output, dy with its border as the input.
  Correlation phase_job(const Phase& row, const Phase& column) const {
    const std::int64_t dy_row = dy_border_.width * g_.filters;
    Correlation job{.rows = row.count, .columns = column.count, .x_row = dy_row, .x_column = g_.filters};
    job.y_row = g_.stride_h * g_.width * g_.channels;
    job.y_column = g_.stride_w * g_.channels;
    job.tap_rows = row.taps;
    job.tap_row = row.dy_step * dy_row;
    job.tap_columns = column.taps;
    job.tap_column = column.dy_step * g_.filters;
    job.run = group_filters_;
    job.filters = group_channels_;
    return with_merged_runs(job);
  }

  /// Runs that touch are one.
  static Correlation with_merged_runs(Correlation job) {
    if (job.tap_column == job.run) {
      job.run *= job.tap_columns;
      job.tap_columns = 1;
    }
    return job;
  }

  /// Lays out weights as `correlate` wants them; value(tap, filter) tells each.
  template <class Value>
  void pack(std::int64_t count, std::int64_t filters, float* to, Value value) const {
    for (std::int64_t first = 0; first < filters; first += kernels_.block) {
      const std::int64_t here = std::min(kernels_.block, filters - first);
      for (std::int64_t tap = 0; tap < count; ++tap) {
        for (std::int64_t f = 0; f < here; ++f) *to++ = value(tap, first + f);
        for (std::int64_t f = here; f % kernels_.lanes != 0; ++f) *to++ = 0;
      }
    }
  }

  /// The weights of one group for every phase: kernel positions backward, channels as filters.
  void pack_phases(const float* w, float* to) const {
    for (const Phase& row : row_phases_)
      for (const Phase& column : column_phases_) {
        pack(row.taps * column.taps * group_filters_, group_channels_, to,
             [&](std::int64_t tap, std::int64_t c) {
               const std::int64_t f = tap % group_filters_, position = tap / group_filters_;
               const std::int64_t ky = row.last_tap - position / column.taps * row.tap_stride;
               const std::int64_t kx = column.last_tap - position % column.taps * column.tap_stride;
               return w[((ky * g_.kernel_w + kx) * group_channels_ + c) * g_.filters + f];
             });
        to += row.taps * column.taps * group_filters_ * packed_channels();
      }
  }

  ConvolutionGeometry g_;
  const ConvolutionKernels& kernels_;
  std::int64_t out_h_, out_w_;
  std::int64_t group_channels_, group_filters_;
  std::int64_t slope_pixel_;  ///< a group's filters, rounded up to vectors
  Bordered x_border_, dy_border_;
  std::vector<Phase> row_phases_, column_phases_;
  std::int64_t block_images_ = 1;  ///< images whose dw is summed before memory sees it
};

}  // namespace

bool suits_direct_convolution(const ConvolutionGeometry& g) {
  return g.groups == 1 || std::min(g.channels, g.filters) / g.groups >= 8;
}

std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry) {
  return std::make_unique<DirectConvolution>(geometry);
}

}  // namespace trainer
