#include "engine/math/direct_convolution.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/range.h"
#include "engine/math/elementwise.h"
#include "engine/math/instruction_set.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/shared_product.h"
#include "engine/system/shared_work.h"

namespace trainer {
namespace {

constexpr std::int64_t kAlignment = 16;          // floats of a cache line
constexpr std::int64_t kWindowFloats = 1 << 15;  // for rows that are worked on together: 128 KiB of L2
constexpr std::int64_t kMaxImages = 8;           // images whose dw is summed before memory sees it

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// An image whose pixels' first `channels` floats are to be read: as it is, or through a copy of some rows
/// that holds just these channels and zeros at both ends of each row.
struct Source {
  std::int64_t height = 0, width = 0, pixel = 0, channels = 0;
  std::int64_t left = 0, right = 0;
  std::int64_t gap = 0;  ///< behind the channels of a pixel of the copy

  bool copied() const { return gap > 0 || is_changed(); }
  bool is_changed() const { return left > 0 || right > 0 || channels != pixel; }
  std::int64_t column() const { return copied() ? channels + gap : pixel; }
  std::int64_t row() const { return (left + width + right) * column(); }
  std::int64_t row_without_gaps() const { return (left + width + right) * channels; }

  void copy(const float* image, std::int64_t first, std::int64_t rows, float* to) const {
    for (std::int64_t y = first; y < first + rows; ++y) {
      to = std::fill_n(to, left * column(), 0.0f);
      const float* from = image + y * width * pixel;
      if (pixel == column())
        to = std::copy_n(from, width * channels, to);
      else
        for (std::int64_t x = 0; x < width; ++x) to = std::copy_n(from + x * pixel, channels, to) + gap;
      to = std::fill_n(to, right * column(), 0.0f);
    }
  }
};

/// Some rows of a job's output, and the rows of x that they need.
struct Window {
  std::int64_t first = 0, rows = 0;
  std::int64_t x_first = 0, x_rows = 0;
};

Window make_window(const Correlation& job, std::int64_t first, std::int64_t rows) {
  Window window{.first = first, .rows = std::min(rows, job.rows - first)};
  const std::int64_t top = job.first_row + first * job.row_step;
  const std::int64_t bottom =
      top + (window.rows - 1) * job.row_step + (job.tap_rows - 1) * job.tap_row_step + 1;
  window.x_first = std::clamp<std::int64_t>(top, 0, job.x_height);
  window.x_rows = std::clamp(bottom, window.x_first, job.x_height) - window.x_first;
  return window;
}

/// A correlation over one image and how it is cut into windows.
struct Pass {
  Source source;
  Correlation job;
  std::int64_t offset = 0;  ///< of the first output's first tap in a row of the source
  std::int64_t rows = 0;    ///< of a window

  Pass(const Source& read, const Correlation& work, std::int64_t first_column, std::int64_t y_floats)
      : source(read), job(work), offset((first_column + read.left) * read.column()) {
    job.x_height = source.height;
    job.x_row = source.row();
    // Each window reads all the weights: not less than four rows, and more when the weights are many.
    const std::int64_t weights = job.tap_rows * job.tap_columns * job.run * job.filters;
    const std::int64_t floats = std::clamp(weights / 4, kWindowFloats, 3 * kWindowFloats);
    const std::int64_t overlap = (job.tap_rows - 1) * job.tap_row_step * source.row_without_gaps();
    const std::int64_t room =
        (floats - overlap) / std::max<std::int64_t>(1, job.row_step * source.row_without_gaps() + y_floats);
    const std::int64_t most = std::max<std::int64_t>(room, 4);
    const std::int64_t windows = std::max<std::int64_t>(1, (job.rows + most - 1) / most);
    rows = (job.rows + windows - 1) / windows;
    // Runs that touch are one, except where the kernel needs the columns.
    if (job.x_width == 0 && job.tap_column == job.run) {
      job.run *= job.tap_columns;
      job.tap_columns = 1;
    }
  }

  std::int64_t copy_size() const { return source.copied() ? rows_of_window() * source.row() : 0; }

  std::int64_t rows_of_window() const {
    if (job.rows == 0) return 0;
    const std::int64_t needed = (rows - 1) * job.row_step + (job.tap_rows - 1) * job.tap_row_step + 1;
    return std::clamp<std::int64_t>(needed, 0, source.height);
  }

  /// Calls body(job, x, first output row) for each window.
  template <class Body>
  void for_each_window(const float* image, float* copy, Body body) const {
    for (std::int64_t first = 0; first < job.rows; first += rows) {
      const Window window = make_window(job, first, rows);
      Correlation part = job;
      part.first_row += first * job.row_step - window.x_first;
      part.rows = window.rows;
      part.x_height = window.x_rows;
      const float* x = image + window.x_first * source.row();
      if (source.copied()) {
        source.copy(image, window.x_first, window.x_rows, copy);
        x = copy;
      }
      body(part, x + offset, first);
    }
  }
};

/// The outputs dx[first], dx[first + stride], ... of one extent use the same kernel positions: last_tap,
/// last_tap - tap_stride, ... Walking them in this order reads dy forward, in steps of `dy_step`.
struct Phase {
  std::int64_t first = 0, count = 0;
  std::int64_t taps = 0, last_tap = 0, tap_stride = 1;
  std::int64_t dy_first = 0, dy_step = 1;  ///< dy_first may be negative
};

std::vector<Phase> make_phases(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                               std::int64_t pad, std::int64_t dilation) {
  std::vector<Phase> phases;
  for (std::int64_t first = 0; first < std::min(stride, extent); ++first) {
    Phase phase{.first = first, .count = (extent - first + stride - 1) / stride};
    std::int64_t first_tap = 0;
    for (std::int64_t tap = 0; tap < kernel; ++tap)
      if ((first + pad - tap * dilation) % stride == 0) {
        if (phase.taps++ == 0) first_tap = tap;
        phase.last_tap = tap;
      }
    if (phase.taps > 1) phase.tap_stride = (phase.last_tap - first_tap) / (phase.taps - 1);
    if (phase.taps > 0) {
      phase.dy_step = std::max<std::int64_t>(1, phase.tap_stride * dilation / stride);
      phase.dy_first = (first + pad - phase.last_tap * dilation) / stride;
    }
    phases.push_back(phase);
  }
  return phases;
}

class DirectConvolution final : public Convolution {
 public:
  DirectConvolution(const ConvolutionGeometry& geometry, const ConvolutionKernels& kernels, bool portable)
      : g_(geometry),
        kernels_(kernels),
        portable_(portable),
        out_h_(g_.out_height()),
        out_w_(g_.out_width()),
        group_channels_(g_.channels / g_.groups),
        group_filters_(g_.filters / g_.groups),
        gradient_pixel_(round_up(group_filters_, kernels_.lanes)),
        forward_(make_pass(kernels_.has_narrow(g_.width, g_.kernel_w, g_.pad_w, portable_))),
        gradient_gap_(gap_behind(group_filters_)),
        weights_(make_pass(kernels_.has_sliding(out_w_, g_.kernel_w, g_.pad_w, portable_),
                           g_.kernel_h * g_.kernel_w > 1 ? gap_behind(group_channels_) : 0)),
        row_phases_(make_phases(g_.height, g_.kernel_h, g_.stride_h, g_.pad_h, g_.dilation_h)),
        column_phases_(make_phases(g_.width, g_.kernel_w, g_.stride_w, g_.pad_w, g_.dilation_w)) {
    make_data();
    // Small images share a window.
    if (weights_.rows == out_h_)
      block_images_ =
          std::clamp<std::int64_t>(kWindowFloats / std::max<std::int64_t>(1, window_floats()), 1, kMaxImages);
  }

  std::int64_t scratch_size() const override {
    std::int64_t data_copy = 0;
    for (const Pass& pass : data_) data_copy = std::max(data_copy, pass.copy_size());
    return kAlignment + std::max({taps() * gradient_pixel_ + gradient_pixel_ + forward_.copy_size(),
                                  data_weights() + data_copy,
                                  block_images_ * (weights_.copy_size() + gradient_copy_size())});
  }

  std::string kernel() const override {
    return "direct " + std::to_string(g_.kernel_h) + "x" + std::to_string(g_.kernel_w);
  }

  void forward(std::int64_t images, const float* x, const float* w, const float* bias, Activation activation,
               float* y, float* scratch) const override {
    if (images == 0) return;
    float* const packed = aligned(scratch);
    float* const start = packed + taps() * gradient_pixel_;
    float* const copy = start + gradient_pixel_;
    const bool separate = activation != Activation::none && activation != Activation::relu;
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      const std::int64_t first = group * group_filters_;
      pack(forward_.job, g_.kernel_w, 1, packed, [&](std::int64_t ky, std::int64_t kx, std::int64_t c) {
        return w + ((ky * g_.kernel_w + kx) * group_channels_ + c) * g_.filters + first;
      });
      if (bias) {
        std::fill_n(start, gradient_pixel_, 0.0f);
        std::copy_n(bias + first, group_filters_, start);
      }
      for (std::int64_t image = 0; image < images; ++image) {
        float* const to = y + image * out_size() + first;
        forward_.for_each_window(x + image * in_size() + group * group_channels_, copy,
                                 [&](const Correlation& job, const float* from, std::int64_t row) {
                                   correlate(job, from, packed, bias ? start : nullptr,
                                             activation == Activation::relu, to + row * job.y_row);
                                 });
        if (separate && group + 1 == g_.groups)
          activate(activation, out_size(), y + image * out_size(), y + image * out_size());
      }
    }
  }

  void backward_data(std::int64_t images, const float* dy, const float* w, float* dx,
                     float* scratch) const override {
    if (images == 0) return;
    float* const packed = aligned(scratch);
    float* const copy = packed + data_weights();
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      float* next = packed;
      auto phase = data_.begin();
      for (const Phase& row : row_phases_)
        for (const Phase& column : column_phases_) {
          // dx takes the kernel backward and channels for filters.
          pack(phase++->job, column.taps, g_.filters, next,
               [&](std::int64_t ky, std::int64_t kx, std::int64_t f) {
                 const std::int64_t position = (row.last_tap - ky * row.tap_stride) * g_.kernel_w +
                                               column.last_tap - kx * column.tap_stride;
                 return w + position * group_channels_ * g_.filters + group * group_filters_ + f;
               });
          next += phase_weights(row, column);
        }
      for (std::int64_t image = 0; image < images; ++image) {
        const float* weights = packed;
        auto pass = data_.begin();
        for (const Phase& row : row_phases_)
          for (const Phase& column : column_phases_) {
            float* const to = dx + image * in_size() + group * group_channels_ +
                              (row.first * g_.width + column.first) * g_.channels;
            pass->for_each_window(dy + image * out_size() + group * group_filters_, copy,
                                  [&](const Correlation& job, const float* from, std::int64_t first) {
                                    correlate(job, from, weights, nullptr, false, to + first * job.y_row);
                                  });
            weights += phase_weights(row, column);
            ++pass;
          }
      }
    }
  }

  void backward_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* dbias,
                        bool accumulate, float* scratch) const override {
    if (dbias) column_sums(images * out_h_ * out_w_, g_.filters, dy, accumulate, dbias);
    if (!accumulate) std::fill_n(dw, taps() * g_.filters, 0.0f);
    for (std::int64_t first = 0; first < images; first += block_images_)
      for (std::int64_t group = 0; group < g_.groups; ++group)
        add_weights(std::min(block_images_, images - first), x + first * in_size() + group * group_channels_,
                    dy + first * out_size() + group * group_filters_, dw + group * group_filters_,
                    aligned(scratch));
  }

 private:
  static float* aligned(float* scratch) {
    const auto address = reinterpret_cast<std::uintptr_t>(scratch) / sizeof(float);
    return scratch + (kAlignment - static_cast<std::int64_t>(address % kAlignment)) % kAlignment;
  }

  std::int64_t in_size() const { return g_.height * g_.width * g_.channels; }
  std::int64_t out_size() const { return out_h_ * out_w_ * g_.filters; }
  std::int64_t taps() const { return g_.kernel_h * g_.kernel_w * group_channels_; }
  std::int64_t phase_weights(const Phase& row, const Phase& column) const {
    return row.taps * column.taps * group_filters_ * round_up(group_channels_, kernels_.lanes);
  }
  std::int64_t data_weights() const {
    return g_.kernel_h * g_.kernel_w * group_filters_ * round_up(group_channels_, kernels_.lanes);
  }

  /// x as it lies for add_products: distance of images, whether copied or not.
  std::int64_t x_image() const { return weights_.source.copied() ? weights_.copy_size() : in_size(); }
  /// Of one image in x and dy, without gaps, and if portable for the widest vectors: how many images are
  /// summed together shows in the bits.
  std::int64_t window_floats() const {
    constexpr std::int64_t kWidest = 16;
    const std::int64_t lanes = portable_ ? kWidest : kernels_.lanes;
    const std::int64_t gradient =
        group_filters_ % lanes == 0 ? out_size() : weights_.rows * out_w_ * round_up(group_filters_, lanes);
    const Source& source = weights_.source;
    return gradient +
           (source.is_changed() ? weights_.rows_of_window() * source.row_without_gaps() : in_size());
  }
  /// dy can only be read in whole vectors where its filters fill them.
  bool copies_gradients() const { return group_filters_ % kernels_.lanes != 0 || gradient_gap_ > 0; }
  std::int64_t gradient_step() const { return gradient_pixel_ + gradient_gap_; }
  /// A line of the cache behind so many floats, for the gradient of weights. It reads a few floats of each
  /// pixel, which compete for a few sets of the L1 cache if they lie a multiple of 256 bytes apart. Vectors
  /// of 16 floats were not measured.
  std::int64_t gap_behind(std::int64_t floats) const {
    const bool competes = floats % (4 * kAlignment) == 0;
    const bool pays = std::min(group_channels_, group_filters_) >= 2 * kAlignment;
    return competes && pays && kernels_.lanes < 16 ? kAlignment : 0;
  }
  std::int64_t gradient_image() const { return copies_gradients() ? gradient_copy_size() : out_size(); }
  std::int64_t gradient_copy_size() const {
    return copies_gradients() ? weights_.rows * out_w_ * gradient_step() : 0;
  }
  /// x as the input. A kernel that knows the border needs no copy of x that has it.
  Pass make_pass(bool knows_border, std::int64_t gap = 0) const {
    const bool narrow = knows_border && g_.stride_w == 1 && g_.dilation_w == 1;
    Source source{g_.height, g_.width, g_.channels, group_channels_};
    source.gap = gap;
    if (!narrow) source.left = source.right = g_.pad_w;
    Correlation job{.rows = out_h_, .columns = out_w_};
    job.y_row = out_w_ * g_.filters;
    job.y_column = g_.filters;
    job.first_row = -g_.pad_h;
    job.row_step = g_.stride_h;
    job.x_column = g_.stride_w * source.column();
    job.tap_rows = g_.kernel_h;
    job.tap_row_step = g_.dilation_h;
    job.tap_columns = g_.kernel_w;
    job.tap_column = g_.dilation_w * source.column();
    job.run = group_channels_;
    job.filters = group_filters_;
    job.portable = portable_;
    if (narrow) {
      job.x_width = g_.width;
      job.border = g_.pad_w;
    }
    return {source, job, -source.left, out_w_ * g_.filters};
  }

  /// One pass for each phase, with dy as the input and dx as the output.
  void make_data() {
    const std::int64_t border = g_.kernel_w - 1 - g_.pad_w;
    const bool narrow =
        g_.stride_w == 1 && g_.dilation_w == 1 && kernels_.has_narrow(out_w_, g_.kernel_w, border, portable_);
    Source source{out_h_, out_w_, g_.filters, group_filters_};
    for (const Phase& column : column_phases_) {
      if (narrow || column.taps == 0) continue;
      source.left = std::max(source.left, -column.dy_first);
      const std::int64_t end = column.dy_first + (column.taps - 1) * column.dy_step + column.count;
      source.right = std::max(source.right, end - out_w_);
    }
    for (const Phase& row : row_phases_)
      for (const Phase& column : column_phases_) {
        Correlation job{.rows = row.count, .columns = column.count};
        job.y_row = g_.stride_h * g_.width * g_.channels;
        job.y_column = g_.stride_w * g_.channels;
        job.first_row = row.dy_first;
        job.x_column = source.column();
        job.tap_rows = row.taps;
        job.tap_row_step = row.dy_step;
        job.tap_columns = column.taps;
        job.tap_column = column.dy_step * source.column();
        job.run = group_filters_;
        job.filters = group_channels_;
        if (narrow) {
          job.x_width = out_w_;
          job.border = border;
        }
        data_.emplace_back(source, job, narrow ? 0 : column.dy_first, job.y_row);
      }
  }

  void correlate(const Correlation& job, const float* x, const float* w, const float* bias, bool relu,
                 float* y) const {
    const auto kernel = job.x_width > 0 ? kernels_.correlate_narrow : kernels_.correlate;
    const std::int64_t row = job.columns * job.tap_rows * job.tap_columns * job.run * job.filters;
    const int parts = parts_of_work(job.rows * row, job.rows);
    if (parts < 2) return kernel(job, x, w, bias, relu, y);
    share(parts, [&](int part) {
      const Range rows = part_of(job.rows, part, parts);
      Correlation own = job;
      own.first_row += rows.first * job.row_step;
      own.rows = rows.count();
      kernel(own, x, w, bias, relu, y + rows.first * job.y_row);
    });
  }

  /// dw += the products of a window, whose filters threads share by whole vectors.
  void add_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                    float* dw) const {
    const auto kernel = job.x_width > 0 ? kernels_.add_sliding_products : kernels_.add_products;
    const std::int64_t vectors = (job.filters + kernels_.lanes - 1) / kernels_.lanes;
    const std::int64_t work =
        block.images * job.rows * job.columns * job.tap_rows * job.tap_columns * job.run * job.filters;
    const int parts = job.run > kShortRun ? parts_of_work(work, vectors) : 1;
    if (parts < 2) return kernel(job, block, x, dy, dw, g_.filters);
    share(parts, [&](int part) {
      const Range own_vectors = part_of(vectors, part, parts);
      const std::int64_t first = own_vectors.first * kernels_.lanes;
      Correlation own = job;
      own.filters = std::min(own_vectors.last * kernels_.lanes, job.filters) - first;
      kernel(own, block, x, dy + first, dw + first, g_.filters);
    });
  }

  /// Adds a block of images to one group of dw.
  void add_weights(std::int64_t images, const float* x, const float* dy, float* dw, float* scratch) const {
    const Source& source = weights_.source;
    float* const gradients = scratch + block_images_ * weights_.copy_size();
    weights_.for_each_window(x, scratch, [&](Correlation job, const float* from, std::int64_t row) {
      const ImageBlock block{images, x_image(), gradient_image()};
      // The window holds the first image; the others follow it.
      for (std::int64_t image = 1; source.copied() && image < images; ++image)
        source.copy(x + image * in_size(), 0, job.x_height, scratch + image * weights_.copy_size());
      const float* gradient = dy + row * job.y_row;
      if (copies_gradients()) {
        for (std::int64_t image = 0; image < images; ++image)
          copy_gradients(dy + image * out_size() + row * job.y_row, job.rows * out_w_,
                         gradients + image * gradient_copy_size());
        gradient = gradients;
        job.y_column = gradient_step();
        job.y_row = out_w_ * gradient_step();
      }
      add_products(job, block, from, gradient, dw);
    });
  }

  /// Gives each pixel of a group's dy zeros up to whole vectors, and a gap.
  void copy_gradients(const float* dy, std::int64_t pixels, float* to) const {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel, dy += g_.filters) {
      to = std::copy_n(dy, group_filters_, to);
      to = std::fill_n(to, gradient_step() - group_filters_, 0.0f);
    }
  }

  /// Lays out weights as the kernel of this job reads them. tap(ky, kx, input) points at those of the first
  /// filter, and the filters' are `distance` apart.
  template <class Tap>
  void pack(const Correlation& job, std::int64_t columns, std::int64_t distance, float* to, Tap tap) const {
    const bool narrow = job.x_width > 0;
    const std::int64_t width = narrow ? kernels_.lanes : kernels_.block;
    const std::int64_t inputs = columns > 0 ? job.tap_columns * job.run / columns : 0;
    const std::int64_t taps = job.tap_rows * columns * inputs;
    const auto pack_block = [&](std::int64_t block) {
      const std::int64_t first = block * width, here = std::min(width, job.filters - first);
      float* next = to + first * taps;
      const auto put = [&](std::int64_t ky, std::int64_t kx, std::int64_t input) {
        const float* from = tap(ky, kx, input) + first * distance;
        for (std::int64_t f = 0; f < here; ++f) *next++ = from[f * distance];
        next = std::fill_n(next, round_up(here, kernels_.lanes) - here, 0.0f);
      };
      for (std::int64_t ky = 0; ky < job.tap_rows; ++ky)
        if (narrow)
          for (std::int64_t input = 0; input < inputs; ++input)
            for (std::int64_t kx = 0; kx < columns; ++kx) put(ky, kx, input);
        else
          for (std::int64_t kx = 0; kx < columns; ++kx)
            for (std::int64_t input = 0; input < inputs; ++input) put(ky, kx, input);
    };
    const std::int64_t blocks = (job.filters + width - 1) / width;
    const int parts = parts_of_work(taps * job.filters * kMovingWork, blocks);
    share(parts, [&](int part) {
      const Range own = part_of(blocks, part, parts);
      for (std::int64_t block = own.first; block < own.last; ++block) pack_block(block);
    });
  }

  ConvolutionGeometry g_;
  const ConvolutionKernels& kernels_;
  bool portable_;
  std::int64_t out_h_, out_w_;
  std::int64_t group_channels_, group_filters_;
  std::int64_t gradient_pixel_;  ///< a group's filters, rounded up to vectors
  Pass forward_;
  std::int64_t gradient_gap_;  ///< behind a pixel of dy that is copied
  Pass weights_;
  std::vector<Phase> row_phases_, column_phases_;
  std::vector<Pass> data_;  ///< row phases times column phases
  std::int64_t block_images_ = 1;
};

}  // namespace

bool suits_direct_convolution(const ConvolutionGeometry& g) {
  return g.groups == 1 || std::min(g.channels, g.filters) / g.groups >= 8;
}

std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry,
                                                     const ConvolutionKernels& kernels, bool portable) {
  return std::make_unique<DirectConvolution>(geometry, kernels, portable);
}

std::unique_ptr<Convolution> make_direct_convolution(const ConvolutionGeometry& geometry) {
  return make_direct_convolution(geometry, *kernels().convolution, portable_kernels());
}

}  // namespace trainer
