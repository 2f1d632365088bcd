#pragma once

#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/tensor.h"
#include "models/losses/link.h"

namespace trainer {

/// The objective to minimise: a mean over the labels of the batch, weighted by class if there are class
/// weights. Implementations add; the caller divides, by `scale`.
class Loss {
 public:
  static constexpr const char* kFamily = "loss";
  virtual ~Loss() = default;

  /// Checks that outputs of one sample fit targets of so many classes (0: values, shaped like the output).
  /// Error(usage) through config.fail().
  virtual void setup(const Shape& output, int classes) = 0;
  /// True if outputs can be compared with target values of this shape; both of one sample.
  virtual bool takes(const Shape& output, const Shape& target) const {
    return output.size() == target.size();
  }
  /// How metrics read the outputs.
  virtual Link link() const { return Link::identity; }
  /// True if it uses the lengths of sequences.
  virtual bool knows_lengths() const { return false; }
  /// True if the loss needs the number of training labels of each class, which use_class_counts() sets once
  /// samples are read.
  virtual bool requires_class_counts() const { return false; }
  virtual void use_class_counts(std::span<const std::int64_t> /*counts*/) {}
  /// The weight of each class; empty if all are 1.
  virtual std::span<const double> class_weights() const { return {}; }
  /// The sum of the rows' losses. dy, unless empty, becomes scale times the gradient of that sum.
  virtual double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const = 0;
};

}  // namespace trainer
