// Gradients of a convolution's weights: every sum is a chain of multiply-adds over the images and pixels that
// a tap meets.

#include "engine/math/kernels/convolution_tiles.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

/// Sums for `rows` kernel rows of `taps` inputs each, over the output rows in `outputs`. x and dw lie at the
/// first tap.
template <int vectors, int rows, int taps>
void products_tile(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                   const float* dy, std::int64_t filters, float* dw, std::int64_t dw_row,
                   std::int64_t dw_tap) {
  const std::int64_t x_step = job.row_step * job.x_row, tap_row = job.tap_row_step * job.x_row;
  Vector sums[rows][taps][vectors] = {};
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t oy = outputs.first; oy < outputs.last; ++oy) {
      const float* gradient = dy + image * block.dy_image + oy * job.y_row;
      const float* line[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) line[r] = x + image * block.x_image + oy * x_step + r * tap_row;
      for (std::int64_t ox = 0; ox < job.columns; ++ox) {
        Vector gradients[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) gradients[v] = load(gradient + v * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 24
          for (int t = 0; t < taps; ++t)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v)
              sums[r][t][v] = multiply_add(gradients[v], line[r][t], sums[r][t][v]);
          line[r] += job.x_column;
        }
        gradient += job.y_column;
      }
    }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 24
    for (int t = 0; t < taps; ++t) {
      float* to = dw + r * dw_row + t * dw_tap;
      if (filters == vectors * kLanes) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store(load(to + v * kLanes) + sums[r][t][v], to + v * kLanes);
      } else {
        float all[vectors * kLanes];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) store(sums[r][t][v], all + v * kLanes);
        for (std::int64_t i = 0; i < filters; ++i) to[i] += all[i];
      }
    }
}

using ProductsTile = void (*)(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                              const float* dy, std::int64_t filters, float* dw, std::int64_t dw_row,
                              std::int64_t dw_tap);

template <int vectors, int rows, int taps>
ProductsTile products_tile_of(std::int64_t required) {
  if constexpr (taps == 0)
    return nullptr;
  else
    return required == taps ? products_tile<vectors, rows, taps>
                            : products_tile_of<vectors, rows, taps - 1>(required);
}

// With few inputs in a row, several kernel rows together keep the processor busy.
template <int vectors, int rows>
ProductsTile short_tile_of(std::int64_t height, std::int64_t taps) {
  if constexpr (rows == 0)
    return nullptr;
  else
    return height == rows ? products_tile_of<vectors, rows, kShortRun>(taps)
                          : short_tile_of<vectors, rows - 1>(height, taps);
}

/// Kernel rows that are summed together over the outputs that all of them serve: as many as the registers
/// hold (`most` of short runs), or as 32 registers of 16 lanes would hold.
inline std::int64_t rows_together(const Correlation& job, std::int64_t first_filter, std::int64_t most,
                                  std::int64_t longest_run) {
  if (!job.portable) return job.run > longest_run ? 1 : most;
  constexpr std::int64_t kWidest = 16;
  const std::int64_t filters = job.filters - first_filter / (2 * kWidest) * (2 * kWidest);
  return job.run > kShortRun ? 1 : filters > kWidest ? 2 : 5;
}

/// The output rows that tap row `ky` serves.
inline Range outputs_of(const Correlation& job, std::int64_t ky) {
  return inside(job.first_row + ky * job.tap_row_step, job.row_step, job.rows, job.x_height);
}

template <int vectors>
void products_block(const Correlation& job, const ImageBlock& block, std::int64_t first_filter,
                    const float* x, const float* dy, std::int64_t filters, float* dw, std::int64_t dw_tap) {
  constexpr int kMaxTaps = kMaxTile / vectors;
  constexpr int kMaxRows = kMaxTaps >= 24 ? 5 : kMaxTaps >= 10 ? 2 : 1;
  constexpr int kLongestRun = kShortRun < kMaxTaps ? kShortRun : kMaxTaps - 1;
  const std::int64_t together = rows_together(job, first_filter, kMaxRows, kLongestRun);
  const std::int64_t dw_run = job.run * dw_tap, dw_row = job.tap_columns * dw_run;
  const auto add_rows = [=, &job, &block](std::int64_t rows, std::int64_t ky, std::int64_t kx,
                                          Range outputs) {
    if (outputs.first >= outputs.last) return;
    const float* from = x + (job.first_row + ky * job.tap_row_step) * job.x_row + kx * job.tap_column;
    float* to = dw + ky * dw_row + kx * dw_run;
    if (rows > 1)
      return short_tile_of<vectors, kMaxRows>(rows, job.run)(job, block, outputs, from, dy, filters, to,
                                                             dw_row, dw_tap);
    const std::int64_t tiles = (job.run + kMaxTaps - 1) / kMaxTaps;
    for (std::int64_t tile = 0, tap = 0; tile < tiles; ++tile) {
      const std::int64_t size = job.run / tiles + (tile < job.run % tiles ? 1 : 0);
      products_tile_of<vectors, 1, kMaxTaps>(size)(job, block, outputs, from + tap, dy, filters,
                                                   to + tap * dw_tap, dw_row, dw_tap);
      tap += size;
    }
  };
  for (std::int64_t ky = 0; ky < job.tap_rows; ky += together) {
    const std::int64_t rows = job.tap_rows - ky < together ? job.tap_rows - ky : together;
    // Together over the outputs that all of these rows serve, then one by one over the rest.
    const Range first = outputs_of(job, ky), last = outputs_of(job, ky + rows - 1);
    Range common = {first.first, last.last};
    if (common.first > common.last) common.last = common.first;
    for (std::int64_t kx = 0; kx < job.tap_columns; ++kx) {
      // As many at once as the registers hold.
      for (std::int64_t r = ky; r < ky + rows; r += kMaxRows)
        add_rows(ky + rows - r < kMaxRows ? ky + rows - r : kMaxRows, r, kx, common);
      for (std::int64_t r = ky; rows > 1 && r < ky + rows; ++r) {
        const Range own = outputs_of(job, r);
        add_rows(1, r, kx, {own.first, own.last < common.first ? own.last : common.first});
        add_rows(1, r, kx, {own.first > common.last ? own.first : common.last, own.last});
      }
    }
  }
}

/// Sums for one kernel row of `taps` columns and some of its inputs. Each input meets the gradients of all
/// outputs that it belongs to, which move along with it; before the first output and behind the last they are
/// 0.
template <int taps, int inputs>
void sliding_tile(const Correlation& job, const ImageBlock& block, Range outputs, const float* x,
                  const float* dy, std::int64_t filters, float* dw, std::int64_t dw_column,
                  std::int64_t dw_tap) {
  Vector sums[taps][inputs] = {};
  const std::int64_t distance = job.x_column, gradient_distance = job.y_column;
  for (std::int64_t image = 0; image < block.images; ++image)
    for (std::int64_t oy = outputs.first; oy < outputs.last; ++oy) {
      const float* gradient = dy + image * block.dy_image + oy * job.y_row;
      const float* line = x + image * block.x_image + oy * job.row_step * job.x_row;
      const float* const end = gradient + job.columns * gradient_distance;
      Vector gradients[taps] = {};
      // Slide the first `border` outputs in, then one more with each input.
      for (std::int64_t i = 0; i < job.border; ++i, gradient += gradient_distance) {
#pragma GCC unroll 8
        for (int t = taps - 1; t > 0; --t) gradients[t] = gradients[t - 1];
        gradients[1] = load(gradient);
      }
      for (std::int64_t i = 0; i < job.x_width; ++i, gradient += gradient_distance, line += distance) {
        gradients[0] = gradient < end ? load(gradient) : Vector{};
#pragma GCC unroll 8
        for (int c = 0; c < inputs; ++c)
#pragma GCC unroll 8
          for (int t = 0; t < taps; ++t) sums[t][c] = multiply_add(gradients[t], line[c], sums[t][c]);
#pragma GCC unroll 8
        for (int t = taps - 1; t > 0; --t) gradients[t] = gradients[t - 1];
      }
    }
#pragma GCC unroll 8
  for (int t = 0; t < taps; ++t)
#pragma GCC unroll 8
    for (int c = 0; c < inputs; ++c) {
      float* to = dw + t * dw_column + c * dw_tap;
      if (filters == kLanes) {
        store(load(to) + sums[t][c], to);
      } else {
        float all[kLanes];
        store(sums[t][c], all);
        for (std::int64_t f = 0; f < filters; ++f) to[f] += all[f];
      }
    }
}

constexpr int kSlidingInputs = KERNEL_REGISTERS == 32 ? 8 : 3;  // times three taps

template <int inputs>
ProductsTile sliding_tile_of(std::int64_t required) {
  if constexpr (inputs == 0)
    return nullptr;
  else
    return required == inputs ? sliding_tile<3, inputs> : sliding_tile_of<inputs - 1>(required);
}

}  // namespace

void add_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy, float* dw,
                  std::int64_t dw_tap) {
  for_each_filter_block(
      job.filters, [=, &job, &block](auto vectors, std::int64_t first, std::int64_t filters) {
        products_block<vectors>(job, block, first, x, dy + first, filters, dw + first, dw_tap);
      });
}

bool has_sliding(std::int64_t columns, std::int64_t tap_columns, std::int64_t border, bool portable) {
  return (KERNEL_REGISTERS == 32 || portable) && tap_columns == 3 && border <= 2 && columns >= 2;
}

void add_sliding_products(const Correlation& job, const ImageBlock& block, const float* x, const float* dy,
                          float* dw, std::int64_t dw_tap) {
  const std::int64_t tiles = (job.run + kSlidingInputs - 1) / kSlidingInputs;
  const std::int64_t dw_column = job.run * dw_tap;
  for (std::int64_t first = 0; first < job.filters; first += kLanes) {
    const std::int64_t left = job.filters - first, filters = left < kLanes ? left : kLanes;
    for (std::int64_t ky = 0; ky < job.tap_rows; ++ky) {
      const Range outputs = outputs_of(job, ky);
      const float* line = x + (job.first_row + ky * job.tap_row_step) * job.x_row;
      for (std::int64_t tile = 0, input = 0; tile < tiles; ++tile) {
        const std::int64_t size = job.run / tiles + (tile < job.run % tiles ? 1 : 0);
        sliding_tile_of<kSlidingInputs>(size)(job, block, outputs, line + input, dy + first, filters,
                                              dw + ky * 3 * dw_column + input * dw_tap + first, dw_column,
                                              dw_tap);
        input += size;
      }
    }
  }
}

}  // namespace trainer::KERNEL_NAMESPACE
