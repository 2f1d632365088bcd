#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// In exact mode: a sum over the units or inputs of a layer, which are cut into blocks as the layer's size
/// alone says. A rank holds some of the blocks; their sums are added along one tree, over all ranks that
/// share the model.
class BlockSum {
 public:
  virtual ~BlockSum() = default;

  /// Where this rank's blocks begin in its part of the layer, and behind them the end of the last.
  virtual std::span<const std::int64_t> borders() const = 0;
  std::int64_t blocks() const { return std::ssize(borders()) - 1; }
  /// Floats of scratch that sum() needs for each float of `total`.
  virtual std::int64_t scratch() const = 0;
  /// `parts`: what my blocks gave, one after the other, each as long as `total`. Every worker of every rank
  /// calls.
  virtual void sum(int worker, std::span<const float> parts, std::span<float> total,
                   std::span<float> scratch) = 0;
};

}  // namespace trainer
