#include "engine/math/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "models/layers/layer.h"

namespace trainer {
namespace {

/// Turns pairs of features by angles that grow with the position, so that the product of a query and a key
/// depends on their distance (Su et al. 2021). Feature i and i + size / 2 are a pair.
class Rotation {
 public:
  Rotation() = default;
  Rotation(std::int64_t length, std::int64_t size) : half_(size / 2) {
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t i = 0; i < half_; ++i) {
        const double wave = std::pow(10000.0, -2 * static_cast<double>(i) / static_cast<double>(size));
        cosines_.push_back(static_cast<float>(std::cos(static_cast<double>(t) * wave)));
        sines_.push_back(static_cast<float>(std::sin(static_cast<double>(t) * wave)));
      }
  }

  /// Turns `vectors` neighbouring vectors of position t; by = -1: back.
  void turn(std::int64_t t, std::int64_t vectors, float by, float* x) const {
    const float *const cosines = cosines_.data() + t * half_, *const sines = sines_.data() + t * half_;
    for (; vectors > 0; --vectors, x += 2 * half_)
      for (std::int64_t i = 0; i < half_; ++i) {
        const float first = x[i], second = x[i + half_], sine = by * sines[i];
        x[i] = first * cosines[i] - second * sine;
        x[i + half_] = second * cosines[i] + first * sine;
      }
  }

 private:
  std::int64_t half_ = 0;
  std::vector<float> cosines_, sines_;
};

/// Every position gathers from the others what its query finds in their keys (Vaswani et al. 2017).
class Attention final : public Layer {
 public:
  explicit Attention(const Config& config)
      : config_(config), has_bias_(config.get<bool>("bias")), rotary_(config.get<bool>("rotary")) {
    geometry_.heads = config.get<std::int64_t>("heads");
    geometry_.causal = config.get<bool>("causal");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    if (sample.rank() != 2)
      fail_to_fit(config_, plan, sample, "it wants a sequence of vectors", "`embedding` makes one of tokens");
    length_ = geometry_.length = sample[0];
    width_ = sample[1];
    if (width_ % geometry_.heads != 0)
      fail_to_fit(config_, plan, sample,
                  fmt::format("{} heads do not divide {} features", geometry_.heads, width_));
    geometry_.head_size = width_ / geometry_.heads;
    if (rotary_ && geometry_.head_size % 2 != 0)
      fail_to_fit(config_, plan, sample,
                  fmt::format("`rotary` wants an even head, each has {} features", geometry_.head_size));
    if (rotary_) rotation_ = Rotation(length_, geometry_.head_size);
    const auto weight = [&](const char* name, std::int64_t outputs) {
      return plan.parameter({.name = name,
                             .shape = {width_, outputs},
                             .layout = FileLayout::dense,
                             .fan_in = width_,
                             .fan_out = outputs});
    };
    const auto bias = [&](const char* name, std::int64_t outputs) {
      return plan.parameter({.name = name, .shape = {outputs}, .is_weight = false});
    };
    in_weight_ = weight("in_proj_weight", 3 * width_);
    if (has_bias_) in_bias_ = bias("in_proj_bias", 3 * width_);
    out_weight_ = weight("out_proj.weight", width_);
    if (has_bias_) out_bias_ = bias("out_proj.bias", width_);
    qkv_ = plan.saved(Shape{length_, 3, width_}.size());
    context_ = plan.saved(sample.size());
    sums_ = plan.saved(geometry_.sums_size());
    dqkv_ = plan.scratch(Shape{length_, 3, width_}.size());
    dcontext_ = plan.scratch(sample.size());
    scores_ = plan.scratch(0, geometry_.scratch_size());
    plan.backward_reads(true, false);
    // Scores, and what is gathered by them; a causal position needs half of both in the mean.
    flops_ = Plan::flops({4, length_, width_, width_}) +
             Plan::flops({geometry_.causal ? 1 : 2, length_, length_, width_});
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    float* const qkv = pass.buffer(qkv_).data();
    float* const context = pass.buffer(context_).data();
    multiply_by(in_weight_, in_bias_, 3 * width_, x.data(), qkv, pass);
    turn(1, qkv, pass);
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      attention_forward(geometry_of(row, pass), qkv + row * qkv_.per_row, context + row * context_.per_row,
                        pass.buffer(sums_).data() + row * sums_.per_row, pass.buffer(scores_).data());
    multiply_by(out_weight_, out_bias_, width_, context, y.data(), pass);
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const float* const context = pass.buffer(context_).data();
    float* const dcontext = pass.buffer(dcontext_).data();
    float* const dqkv = pass.buffer(dqkv_).data();
    give_gradients(out_weight_, out_bias_, width_, context, dy.data(), dcontext, pass);
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      attention_backward(geometry_of(row, pass), pass.buffer(qkv_).data() + row * qkv_.per_row,
                         context + row * context_.per_row, pass.buffer(sums_).data() + row * sums_.per_row,
                         dcontext + row * context_.per_row, dqkv + row * qkv_.per_row,
                         pass.buffer(scores_).data());
    turn(-1, dqkv, pass);
    give_gradients(in_weight_, in_bias_, 3 * width_, x.data(), dqkv, dx.data(), pass);
  }

  std::int64_t flops() const override { return flops_; }

 private:
  AttentionGeometry geometry_of(std::int64_t row, const Pass& pass) const {
    AttentionGeometry geometry = geometry_;
    geometry.filled = pass.length(row, length_);
    return geometry;
  }

  /// y = x W + b on all positions.
  void multiply_by(ParameterId weight, ParameterId bias, std::int64_t outputs, const float* x, float* y,
                   const Pass& pass) const {
    for (const Block& block : pass.blocks()) {
      const std::int64_t first = block.first * length_;
      gemm(Transpose::no, Transpose::no, block.count * length_, outputs, width_, x + first * width_, width_,
           pass.value(weight).data(), outputs, 0, y + first * outputs, outputs);
    }
    if (has_bias_)
      bias_activate(Activation::none, pass.rows() * length_, outputs, y, pass.value(bias).data(), y);
  }

  /// Gradients of such a product; dx may be null.
  void give_gradients(ParameterId weight, ParameterId bias, std::int64_t outputs, const float* x,
                      const float* dy, float* dx, const Pass& pass) const {
    for (const Block& block : pass.blocks()) {
      const std::int64_t first = block.first * length_, count = block.count * length_;
      gemm(Transpose::yes, Transpose::no, width_, outputs, count, x + first * width_, width_,
           dy + first * outputs, outputs, 0, pass.gradient(weight, block).data(), outputs);
      if (has_bias_)
        column_sums(count, outputs, dy + first * outputs, false, pass.gradient(bias, block).data());
      if (dx)
        gemm(Transpose::no, Transpose::yes, count, width_, outputs, dy + first * outputs, outputs,
             pass.value(weight).data(), outputs, 0, dx + first * width_, width_);
    }
  }

  /// Queries and keys of all positions, which lie one behind the other.
  void turn(float by, float* qkv, const Pass& pass) const {
    if (!rotary_) return;
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      for (std::int64_t t = 0; t < length_; ++t)
        rotation_.turn(t, 2 * geometry_.heads, by, qkv + (row * length_ + t) * 3 * width_);
  }

  Config config_;
  bool has_bias_, rotary_;
  AttentionGeometry geometry_;
  Rotation rotation_;
  std::int64_t length_ = 0, width_ = 0, flops_ = 0;
  ParameterId in_weight_, in_bias_, out_weight_, out_bias_;
  BufferId qkv_, context_, sums_, dqkv_, dcontext_, scores_;
};

const Registry<Layer>::Add registered{
    {.name = "attention",
     .help = "multi-head self-attention: each position takes from the others what it looks for",
     .primary = "heads",
     .settings = {integer("heads", "how many look side by side, each with its part of the features")
                      .at_least(1)
                      .at_most(1e6),
                  boolean("causal", "a position sees none that come after it").fallback("false"),
                  boolean("rotary", "queries and keys are turned by their position, so that distances count")
                      .fallback("false"),
                  boolean("bias", "add biases to queries, keys, values and outputs").fallback("true")}},
    [](const Config& config) { return std::make_unique<Attention>(config); }};

}  // namespace
}  // namespace trainer
