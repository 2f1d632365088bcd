#pragma once

#include <cstdint>

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/packing.h"
#include "engine/math/kernels/vector.h"

// A matrix B that does not fit the L2 cache comes from L3 or from memory, some hundred nanoseconds
// away. So while the tiles of one panel are multiplied, each of them takes a share in packing the next panel.

namespace trainer::KERNEL_NAMESPACE {
namespace {

inline Operand part(const Operand& whole, std::int64_t first, std::int64_t k) {
  return {whole.data + first * whole.step + k * whole.k_step, whole.step, whole.k_step};
}

/// Some columns of B over some of k, to be packed. Tiles that work on other elements call prepare() now and
/// then, which fetches a few lines and packs those that have arrived: later they would come too late, and all
/// at once in the way. finish() does the rest. Empty by default.
class Packing {
 public:
  static constexpr std::int64_t kStride = 16;  ///< of the tile's k, between calls of prepare()

  Packing() = default;
  Packing(const Operand& from, std::int64_t columns, std::int64_t width, std::int64_t depth, float* to)
      : from_(from), columns_(columns), width_(width), depth_(depth), to_(to) {}

  bool empty() const { return depth_ == 0; }
  /// Lets prepare() also fetch what tiles to come read of A, whose columns are contiguous: a line for each k.
  void fetch_lines(const float* of_a, std::int64_t ahead, std::int64_t k_step) {
    line_of_a_ = of_a, ahead_in_a_ = ahead, step_of_a_ = k_step;
  }
  bool fetches_lines() const { return line_of_a_ != nullptr; }
  /// prepare() will be called so often.
  void expect(std::int64_t calls) {
    const bool rows_lie_together = from_.step == 1;
    runs_ = rows_lie_together ? depth_ : columns_;
    run_step_ = rows_lie_together ? from_.k_step : from_.step;
    lines_ = ((rows_lie_together ? columns_ : depth_) + kLine - 1) / kLine;
    // Columns that have to be transposed, or filled up with zeros, are left to finish().
    copied_runs_ = rows_lie_together && columns_ == width_ ? runs_ : 0;
    runs_a_call_ = calls > 0 ? (runs_ + kLead + calls - 1) / calls : 0;
  }

  // Always inline: see fetch_line().
  [[gnu::always_inline]] void prepare() {
    if (line_of_a_)
      for (std::int64_t k = 0; k < kStride; ++k, ahead_in_a_ += step_of_a_)
        fetch_line<false, 2>(line_of_a_, ahead_in_a_);
    for (std::int64_t run = 0; run < runs_a_call_; ++run, ++next_) {
      if (next_ < runs_)
        // Into the L2 cache: rows that lie a page apart would push each other out of L1.
        for (std::int64_t line = 0; line < lines_; ++line)
          fetch_line<false, 2>(from_.data, next_ * run_step_ + line * kLine);
      const std::int64_t row = next_ - kLead;
      if (row >= 0 && row < copied_runs_)
        for (std::int64_t lane = 0; lane < width_; lane += kLanes)
          store(load(from_.data + row * run_step_ + lane), to_ + row * width_ + lane);
    }
  }

  void finish() const {
    const std::int64_t arrived = next_ < kLead ? 0 : next_ - kLead;
    const std::int64_t done = arrived < copied_runs_ ? arrived : copied_runs_;
    if (done < depth_) pack(part(from_, 0, done), columns_, width_, depth_ - done, to_ + done * width_);
  }

 private:
  // Rows between fetching and packing; more gained nothing.
  static constexpr std::int64_t kLead = 10;

  Operand from_{};
  std::int64_t columns_ = 0, width_ = 0, depth_ = 0;
  float* to_ = nullptr;
  std::int64_t runs_ = 0, run_step_ = 0, lines_ = 0;  ///< rows or columns, whichever is contiguous
  std::int64_t copied_runs_ = 0, runs_a_call_ = 0, next_ = 0;
  const float* line_of_a_ = nullptr;
  std::int64_t ahead_in_a_ = 0, step_of_a_ = 0;
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
