#pragma once

#include <cstdint>
#include <memory>
#include <span>

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

/// `width`: the units of the whole layer.
std::unique_ptr<UnitSum> make_unit_sum(ModelGroup& group, std::int64_t width);

}  // namespace trainer
