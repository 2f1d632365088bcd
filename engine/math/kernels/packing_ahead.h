#pragma once

#include <cstdint>

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/packing.h"
#include "engine/math/kernels/vector.h"

// A matrix B that does not fit the second cache comes from the third or from memory, some hundred nanoseconds
// away. So while the tiles of one panel are multiplied, each of them takes a share in packing the next panel.

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr std::int64_t kLine = 16;  // floats of a cache line

inline Operand part(const Operand& whole, std::int64_t first, std::int64_t k) {
  return {whole.data + first * whole.step + k * whole.k_step, whole.step, whole.k_step};
}

/// What a tile does, a little at every kStride of its own k, for the panel of B that comes next: it fetches
/// some lines into the second cache, and packs some rows that the tile before it has fetched. Later they
/// would come too late, and all at once in the way.
struct Share {
  static constexpr std::int64_t kStride = kLine;

  const float* data = nullptr;
  std::int64_t k_step = 0, depth = 0;
  std::int64_t fetch_first = 0,
               fetch_last = 0;  ///< rows of each kStride of k, or columns that are contiguous in k
  std::int64_t fetch_step = 0, lines = 0;
  std::int64_t copy_first = 0, copy_last = 0;  ///< rows of each kStride of k
  std::int64_t width = 0;
  float* packed = nullptr;

  // Always inline: the compiler takes a function that only fetches for one without effect.
  [[gnu::always_inline]] void prepare(std::int64_t k) const {
    const float* run = data + k * k_step + fetch_first * fetch_step;
    for (std::int64_t i = fetch_first; i < fetch_last; ++i, run += fetch_step)
      for (std::int64_t line = 0; line < lines; ++line) __builtin_prefetch(run + line * kLine, 0, 2);
    const std::int64_t last = copy_last < depth - k ? copy_last : depth - k;
    for (std::int64_t row = k + copy_first; row < k + last; ++row)
      for (std::int64_t i = 0; i < width; i += kLanes)
        store(load(data + row * k_step + i), packed + row * width + i);
  }
};

/// Some columns of B over some of k that tiles pack meanwhile, or finish() does. Empty by default.
class Packing {
 public:
  Packing() = default;
  Packing(const Operand& from, std::int64_t columns, std::int64_t width, std::int64_t depth, float* to)
      : from_(from), columns_(columns), width_(width), depth_(depth), to_(to) {}

  bool empty() const { return depth_ == 0; }
  /// So many tiles will take a share.
  void begin(std::int64_t tiles) { tiles_ = tiles; }

  /// The first only fetches and the last only packs. Columns that have to be transposed, or filled up with
  /// zeros, are packed in finish().
  Share next_share() {
    const std::int64_t tile = tile_++, parts = tiles_ - 1;
    if (parts < 1) return {};
    const bool along_k = from_.step != 1;
    const std::int64_t runs = along_k ? columns_ : Share::kStride;
    Share share{.data = from_.data, .k_step = from_.k_step, .depth = depth_, .width = width_, .packed = to_};
    if (tile < parts) {
      share.fetch_first = runs * tile / parts;
      share.fetch_last = runs * (tile + 1) / parts;
      share.fetch_step = along_k ? from_.step : from_.k_step;
      share.lines = along_k ? 1 : (columns_ + kLine - 1) / kLine;
    }
    if (tile > 0 && !along_k && columns_ == width_) {
      share.copy_first = Share::kStride * (tile - 1) / parts;
      share.copy_last = Share::kStride * tile / parts;
      copies_ = true;
    }
    return share;
  }

  /// After tiles of this depth: packs what is left.
  void finish(std::int64_t tile_depth) {
    const std::int64_t done =
        copies_ ? (tile_depth + Share::kStride - 1) / Share::kStride * Share::kStride : 0;
    if (done < depth_) pack(part(from_, 0, done), columns_, width_, depth_ - done, to_ + done * width_);
  }

 private:
  Operand from_{};
  std::int64_t columns_ = 0, width_ = 0, depth_ = 0;
  float* to_ = nullptr;
  std::int64_t tile_ = 0, tiles_ = 0;
  bool copies_ = false;
};

}  // namespace
}  // namespace trainer::KERNEL_NAMESPACE
