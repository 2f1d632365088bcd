#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/range.h"
#include "models/layers/layer.h"

namespace trainer {

/// The row of each token in a table (vocabulary, units), plus a position embedding where set: (T) -> (T,
/// units).
class Embedding final : public Layer {
 public:
  explicit Embedding(const Config& config);

  std::int64_t vocabulary() const { return vocabulary_; }
  /// Before setup: holds the rows of these tokens alone, and gives minus zeros for others.
  void hold(const Range& tokens) { held_ = tokens; }

  Shape setup(const Shape& sample, Plan& plan) override;
  void forward(ConstTensor x, Tensor y, Pass& pass) override;
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override;
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override;

 private:
  std::int64_t token(float id) const;
  bool holds(std::int64_t token) const { return !held_ || (held_->first <= token && token < held_->last); }
  std::int64_t row_of(std::int64_t token) const { return held_ ? token - held_->first : token; }
  void draw_waves(std::int64_t length);

  Config config_;
  std::int64_t units_, vocabulary_, length_ = 0;
  std::optional<Range> held_;  ///< null: all tokens
  std::string positions_, name_;
  ParameterId weight_, position_;
  std::vector<float> waves_;
};

}  // namespace trainer
