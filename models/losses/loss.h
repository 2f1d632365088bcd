#pragma once

#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/tensor.h"

namespace trainer {

/// What training makes small. Losses average over the labels of the global batch, as much as each counts: the
/// caller divides, by `scale`.
class Loss {
 public:
  static constexpr const char* kFamily = "loss";
  virtual ~Loss() = default;

  /// Checks that outputs of this shape (one sample) can be compared with targets of so many classes (0:
  /// numbers, shaped like the output). Error(usage) through config.fail().
  virtual void setup(const Shape& output, int classes) = 0;
  /// Whether outputs can be compared with numbers of this shape; both are of one sample.
  virtual bool takes(const Shape& output, const Shape& target) const {
    return output.size() == target.size();
  }
  /// Whether it asks targets how long each row's sequence is.
  virtual bool knows_lengths() const { return false; }
  /// How much labels of each class count; empty where all count as one.
  virtual std::span<const double> class_weights() const { return {}; }
  /// The sum over rows of each sample's loss. dy, unless empty, becomes scale times the gradient of that sum.
  virtual double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const = 0;
};

}  // namespace trainer
