#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/layers/pass.h"
#include "models/network/exchange.h"

namespace trainer {

/// In exact mode: a sum over the units of a layer. The units form tiles that depend on the layer's width
/// alone (ModelGroup::unit_borders). A rank holds some of the tiles; one tree adds the sums of the tiles over
/// all ranks that share the model.
class UnitSum {
 public:
  virtual ~UnitSum() = default;

  /// Where this rank's tiles begin in its shard of the layer, then the end of the last.
  virtual std::span<const std::int64_t> borders() const = 0;
  std::int64_t tiles() const { return std::ssize(borders()) - 1; }
  /// Floats of scratch that sum() needs for each float of `total`.
  virtual std::int64_t scratch() const = 0;
  /// `parts`: the sums of this rank's tiles, one after the other, each as long as `total`. Every worker of
  /// every rank calls.
  virtual void sum(int worker, std::span<const float> parts, std::span<float> total,
                   std::span<float> scratch) = 0;
};

/// `width`: the units of the whole layer, of which `together` each are in one tile.
std::unique_ptr<UnitSum> make_unit_sum(ModelGroup& group, std::int64_t width, std::int64_t together = 1);

/// A UnitSum in a layer, with its memory.
class TileSum {
 public:
  /// Sums nothing.
  TileSum() = default;
  /// `summed`: floats of the total for each row.
  TileSum(std::unique_ptr<UnitSum> sum, std::int64_t summed, Plan& plan);

  explicit operator bool() const { return sum_ != nullptr; }
  std::span<const std::int64_t> borders() const { return sum_->borders(); }
  /// Floats that a row gathers from all ranks.
  std::int64_t gathered() const { return scratch_.per_row; }
  /// total = the sum over the tiles of all ranks; product(tile, part) fills a tile's part.
  template <class Product>
  void sum(const Pass& pass, std::span<float> total, Product product) const {
    const std::span<float> parts(pass.buffer(parts_).data(),
                                 total.size() * static_cast<std::size_t>(sum_->tiles()));
    for (std::size_t i = 1; i < borders().size(); ++i)
      product(Range{borders()[i - 1], borders()[i]}, parts.data() + (i - 1) * total.size());
    sum_->sum(pass.worker(), parts, total,
              {pass.buffer(scratch_).data(), total.size() * static_cast<std::size_t>(sum_->scratch())});
  }

 private:
  std::unique_ptr<UnitSum> sum_;
  Buffer<> parts_, scratch_;
};

}  // namespace trainer
