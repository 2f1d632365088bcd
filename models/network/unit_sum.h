#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/sum_tree.h"
#include "models/network/exchange.h"

namespace trainer {

/// In exact mode: a sum over the units of a layer. The units form tiles that depend on the layer's width
/// alone (ModelGroup::unit_borders). A rank holds some of the tiles; one tree adds the sums of the tiles over
/// all ranks that share the model.
class UnitSum {
 public:
  /// Sums nothing.
  UnitSum() = default;
  /// `width`: the units of the whole layer, of which `together` each are in one tile. The total has
  /// `positions` lines of `columns` for each row.
  UnitSum(ModelGroup& group, std::int64_t width, std::int64_t together, std::int64_t positions,
          std::int64_t columns, Plan& plan);

  explicit operator bool() const { return group_ != nullptr; }
  /// Where this rank's tiles begin in its shard of the layer, then the end of the last.
  const std::vector<std::int64_t>& borders() const { return borders_; }
  /// Floats that a row gathers from all ranks.
  std::int64_t gathered() const { return positions_ * columns_ * scratch_roots(); }

  /// total = the sum over the tiles of all ranks; product(lines, tile, part) fills what a tile gives to some
  /// lines. Every worker of every rank calls.
  template <class Product>
  void sum(const Pass& pass, float* total, Product product) const {
    const std::int64_t lines = pass.rows() * positions_;
    const std::int64_t at_once = lines_at_once_ > 0 ? lines_at_once_ : lines;
    float* const parts = pass.buffer(parts_).data();
    for (std::int64_t first = 0; first < lines; first += at_once) {
      const Range block{first, std::min(first + at_once, lines)};
      for (std::size_t tile = 1; tile < borders_.size(); ++tile)
        product(block, Range{borders_[tile - 1], borders_[tile]},
                parts + static_cast<std::int64_t>(tile - 1) * block.count() * columns_);
      add_tiles(pass, block, parts, total);
    }
    if (group_->size() > 1) add_ranks(pass, total);
  }

 private:
  std::int64_t scratch_roots() const;
  void add_tiles(const Pass& pass, const Range& lines, const float* parts, float* total) const;
  void add_ranks(const Pass& pass, float* total) const;

  ModelGroup* group_ = nullptr;
  std::vector<std::int64_t> borders_, roots_;  ///< roots: of the tree of each rank
  SumTree mine_{1, {}}, all_{1, {}};
  std::int64_t first_root_ = 0, positions_ = 0, columns_ = 0;
  std::int64_t lines_at_once_ = 0;  ///< whose parts the cache holds; 0: all
  Buffer<> parts_, scratch_;
};

}  // namespace trainer
