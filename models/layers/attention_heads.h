#pragma once

#include <cstdint>
#include <vector>

#include "engine/math/attention.h"
#include "models/layers/layer.h"

namespace trainer {

class Graph;

/// Rotary position embedding: turns pairs of features by angles that grow with the position, so that the
/// product of a query and a key depends on their distance (Su et al. 2021). Features i and i + size / 2 are a
/// pair.
class Rotation {
 public:
  Rotation() = default;
  /// `base`: of the wave lengths, 2 pi base^(2 i / size) positions.
  Rotation(std::int64_t length, std::int64_t size, double base);

  /// Turns `vectors` neighbouring vectors of position t; by = -1: back.
  void turn(std::int64_t t, std::int64_t vectors, float by, float* x) const;
  /// The same for x (N, heads, T, 2 half), also of other heads.
  Value trace(Value x, std::int64_t length, Graph& graph) const;

 private:
  std::int64_t half_ = 0;
  std::vector<float> cosines_, sines_;
};

/// What lies between the projections of an attention layer: all of its heads, or some of them, turn queries,
/// keys and values, (T, features) and twice (T, key_features), into a context (T, features).
class AttentionHeads {
 public:
  /// Of a layer `attention`.
  explicit AttentionHeads(const Config& config);

  bool has_bias() const { return has_bias_; }

  /// Checks the layer's input (T, C); Error(usage) if it does not fit. Then the sizes below are known.
  void fit(const Shape& sample, Plan& plan);
  /// Heads of queries that share a head of keys and values.
  std::int64_t sharing() const { return sharing_; }
  /// Features of the heads that share one; a rank has all of them or none.
  std::int64_t unit() const { return sharing_ * geometry_.head_size; }
  /// Outputs of the projection of the input for so many features of queries.
  std::int64_t projected(std::int64_t features) const { return features + 2 * (features / sharing_); }
  /// Books memory for heads with so many features together.
  void book(std::int64_t features, Plan& plan);
  /// Of one sample in forward, for so many features.
  std::int64_t flops(std::int64_t features) const;

  // Memory of a pass:
  /// Where the projection of the input goes.
  float* qkv(const Pass& pass) const;
  const float* context(const Pass& pass) const { return pass.buffer(context_).data(); }
  /// Where its gradient goes.
  float* dcontext(const Pass& pass) const { return pass.buffer(dcontext_).data(); }

  /// Fills the context.
  void forward(Pass& pass) const;
  /// Returns dqkv.
  const float* backward(Pass& pass) const;
  bool is_stepwise() const { return geometry_.causal; }
  /// The context of qkv (N, T, projected(C)).
  Value trace(Value qkv, Tracer& tracer) const;

 private:
  /// visit(geometry, its first position among all rows) for each sequence of the pass.
  template <class Visit>
  void for_each_sequence(const Pass& pass, Visit visit) const;
  /// Zeros behind the documents of packed rows.
  void clear_padding(float* x, std::int64_t width, const Pass& pass) const;
  void forward_stepwise(const Pass& pass) const;
  void turn(float by, float* qkv, const Pass& pass) const;
  Value later_positions(Graph& graph) const;

  Config config_;
  bool has_bias_, rotary_, is_stepwise_ = false, stores_bfloat16_ = false;
  double rotary_base_;
  AttentionGeometry geometry_;
  Rotation rotation_;
  std::int64_t length_ = 0, features_ = 0, sharing_ = 1;
  Buffer<> qkv_, context_, sums_, dqkv_, dcontext_, scores_;
};

}  // namespace trainer
