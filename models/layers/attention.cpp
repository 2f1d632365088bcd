#include "engine/math/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/linear.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Rotary position embedding: turns pairs of features by angles that grow with the position, so that the
/// product of a query and a key depends on their distance (Su et al. 2021). Features i and i + size / 2 are a
/// pair.
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

  /// The same for x (N, heads, T, 2 half).
  Value trace(Value x, std::int64_t length, Graph& graph) const {
    const Value cosines = graph.constant("cosines", {length, half_}, cosines_),
                sines = graph.constant("sines", {length, half_}, sines_);
    const Value first = slice(graph, x, 3, 0, half_), second = slice(graph, x, 3, half_, 2 * half_);
    const auto combine = [&](std::string_view operation, Value of_cosines, Value of_sines) {
      const Value a = binary(graph, "Mul", of_cosines, cosines), b = binary(graph, "Mul", of_sines, sines);
      return binary(graph, operation, a, b);
    };
    return concatenate(graph, {combine("Sub", first, second), combine("Add", second, first)}, 3);
  }

 private:
  std::int64_t half_ = 0;
  std::vector<float> cosines_, sines_;
};

/// Multi-head self-attention, softmax(Q K' / sqrt(head size)) V for each head: (T, C) -> (T, C) (Vaswani et
/// al. 2017). Q, K and V are projections of x; their bias and that of the output are optional.
class Attention final : public Layer {
 public:
  explicit Attention(const Config& config)
      : config_(config), has_bias_(config.get<bool>("bias")), rotary_(config.get<bool>("rotary")) {
    geometry_.heads = config.get<std::int64_t>("heads");
    geometry_.causal = config.get<bool>("causal");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    if (sample.rank() != 2)
      fail_to_fit(config_, plan, sample, "it requires a sequence of vectors",
                  "`embedding` makes one of tokens");
    length_ = geometry_.length = plan.positions(sample[0]);
    is_stepwise_ = plan.is_stepwise();
    width_ = sample[1];
    if (width_ % geometry_.heads != 0)
      fail_to_fit(config_, plan, sample,
                  fmt::format("{} heads do not divide {} features", geometry_.heads, width_));
    geometry_.head_size = width_ / geometry_.heads;
    if (rotary_ && geometry_.head_size % 2 != 0)
      fail_to_fit(
          config_, plan, sample,
          fmt::format("`rotary` requires heads of even size, they have {} features", geometry_.head_size));
    if (rotary_) rotation_ = Rotation(length_, geometry_.head_size);
    const auto projection = [&](std::int64_t outputs, const char* weight, const char* bias) {
      const Linear::Extents extents{sample[0], width_, outputs};
      return Linear(plan, extents, Linear::weight(extents, weight),
                    has_bias_ ? std::optional(Linear::bias(outputs, bias)) : std::nullopt);
    };
    in_projection_ = projection(3 * width_, "in_proj_weight", "in_proj_bias");
    out_projection_ = projection(width_, "out_proj.weight", "out_proj.bias");
    const Shape qkv{length_, 3, width_};
    qkv_ = is_stepwise_ ? plan.carried(qkv.size()) : plan.saved(qkv.size());
    context_ = plan.saved(sample.size());
    sums_ = is_stepwise_ ? plan.scratch(0, geometry_.sums_size()) : plan.saved(geometry_.sums_size());
    dqkv_ = plan.scratch(Shape{length_, 3, width_}.size());
    dcontext_ = plan.scratch(sample.size());
    scores_ = plan.scratch(0, geometry_.scratch_size());
    plan.backward_reads(true, false);
    // Scores and their products with values; a causal position needs half of both on average.
    flops_ = Plan::flops({4, length_, width_, width_}) +
             Plan::flops({geometry_.causal ? 1 : 2, length_, length_, width_});
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    if (is_stepwise_) return forward_stepwise(x, y, pass);
    float* const qkv = pass.buffer(qkv_).data();
    float* const context = pass.buffer(context_).data();
    project(in_projection_, 3 * width_, x.data(), qkv, pass);
    turn(1, qkv, pass);
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      attention_forward(geometry_of(row, pass), qkv + row * qkv_.per_row, context + row * context_.per_row,
                        pass.buffer(sums_).data() + row * sums_.per_row, pass.buffer(scores_).data());
    project(out_projection_, width_, context, y.data(), pass);
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const float* const context = pass.buffer(context_).data();
    float* const dcontext = pass.buffer(dcontext_).data();
    float* const dqkv = pass.buffer(dqkv_).data();
    out_projection_.backward(context, dy.data(), dcontext, pass);
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      attention_backward(geometry_of(row, pass), pass.buffer(qkv_).data() + row * qkv_.per_row,
                         context + row * context_.per_row, pass.buffer(sums_).data() + row * sums_.per_row,
                         dcontext + row * context_.per_row, dqkv + row * qkv_.per_row,
                         pass.buffer(scores_).data());
    turn(-1, dqkv, pass);
    in_projection_.backward(x.data(), dqkv, dx.data(), pass);
  }

  std::int64_t flops() const override { return flops_; }
  bool is_stepwise() const override { return geometry_.causal; }

  Value trace(Value x, Tracer& tracer) const override {
    if (!geometry_.causal) tracer.require_no_padding();
    Graph& graph = tracer.graph;
    const std::int64_t heads = geometry_.heads, size = geometry_.head_size;
    const Value qkv = in_projection_.trace(x, tracer);
    // (N, T, C) -> (N, heads, T, head size)
    const auto of_heads = [&](std::int64_t which) {
      const Value part = slice(graph, qkv, 2, which * width_, (which + 1) * width_);
      return transpose(graph, reshape(graph, part, {kBatch, length_, heads, size}), {0, 2, 1, 3});
    };
    Value query = of_heads(0), key = of_heads(1);
    const Value value = of_heads(2);
    if (rotary_) {
      query = rotation_.trace(query, length_, graph);
      key = rotation_.trace(key, length_, graph);
    }
    Value scores = matrix_product(graph, query, transpose(graph, key, {0, 1, 3, 2}));
    scores = binary(graph, "Mul", scores, 1 / std::sqrt(static_cast<float>(size)));
    if (geometry_.causal) scores = binary(graph, "Add", scores, later_positions(graph));
    const Value context = matrix_product(graph, softmax_along(graph, scores, 3), value);
    const Value joined = reshape(graph, transpose(graph, context, {0, 2, 1, 3}), {kBatch, length_, width_});
    return out_projection_.trace(joined, tracer);
  }

 private:
  /// The queries of some positions, after those whose keys and values earlier passes have left.
  void forward_stepwise(ConstTensor x, Tensor y, const Pass& pass) const {
    const std::int64_t first = pass.position(0, 0);
    AttentionGeometry geometry = geometry_;
    geometry.first = first;
    geometry.length = geometry.filled = first + pass.rows();
    float* const qkv = pass.buffer(qkv_).data();
    float* const context = pass.buffer(context_).data();
    float* const here = qkv + first * 3 * width_;
    project(in_projection_, 3 * width_, x.data(), here, pass);
    for (std::int64_t row = 0; row < pass.rows() && rotary_; ++row)
      rotation_.turn(first + row, 2 * geometry_.heads, 1, here + row * 3 * width_);
    attention_forward(geometry, qkv, context, pass.buffer(sums_).data(), pass.buffer(scores_).data());
    project(out_projection_, width_, context, y.data(), pass);
  }

  /// A number for each query and key that leaves nothing of the keys behind the query.
  Value later_positions(Graph& graph) const {
    constexpr float kNothing = -1e30f;
    std::vector<float> mask(static_cast<std::size_t>(length_ * length_));
    for (std::int64_t query = 0; query < length_; ++query)
      for (std::int64_t key = query + 1; key < length_; ++key)
        mask[static_cast<std::size_t>(query * length_ + key)] = kNothing;
    return graph.constant("mask", {length_, length_}, std::move(mask));
  }

  AttentionGeometry geometry_of(std::int64_t row, const Pass& pass) const {
    AttentionGeometry geometry = geometry_;
    geometry.filled = pass.length(row, length_);
    return geometry;
  }

  static void project(const Linear& projection, std::int64_t outputs, const float* x, float* y,
                      const Pass& pass) {
    projection.forward(x, y, pass);
    if (const float* const bias = projection.bias_values(pass))
      bias_activate(Activation::none, pass.rows() * projection.positions(), outputs, y, bias, y);
  }

  /// Queries and keys of all positions; a key lies behind its query.
  void turn(float by, float* qkv, const Pass& pass) const {
    if (!rotary_) return;
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      for (std::int64_t t = 0; t < length_; ++t)
        rotation_.turn(t, 2 * geometry_.heads, by, qkv + (row * length_ + t) * 3 * width_);
  }

  Config config_;
  bool has_bias_, rotary_, is_stepwise_ = false;
  AttentionGeometry geometry_;
  Rotation rotation_;
  std::int64_t length_ = 0, width_ = 0, flops_ = 0;
  Linear in_projection_, out_projection_;
  Buffer<> qkv_, context_, sums_, dqkv_, dcontext_, scores_;
};

const Registry<Layer>::Add registered{
    {.name = "attention",
     .help = "multi-head self-attention",
     .primary = "heads",
     .settings =
         {integer("heads", "number of attention heads, which share the features").at_least(1).at_most(1e6),
          boolean("causal", "mask later positions").fallback("false"),
          boolean("rotary", "rotary position embedding of queries and keys").fallback("false"),
          boolean("bias", "add biases to queries, keys, values and outputs").fallback("true")}},
    [](const Config& config) { return std::make_unique<Attention>(config); }};

}  // namespace
}  // namespace trainer
