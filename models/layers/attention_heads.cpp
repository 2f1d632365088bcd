#include "models/layers/attention_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/core/bfloat16.h"
#include "engine/core/elementary.h"
#include "models/layers/tracer.h"

namespace trainer {

Rotation::Rotation(std::int64_t length, std::int64_t size, double base) : half_(size / 2) {
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t i = 0; i < half_; ++i) {
      const double wave = elementary::pow(base, -2 * static_cast<double>(i) / static_cast<double>(size));
      cosines_.push_back(static_cast<float>(elementary::cos(static_cast<double>(t) * wave)));
      sines_.push_back(static_cast<float>(elementary::sin(static_cast<double>(t) * wave)));
    }
}

void Rotation::turn(std::int64_t t, std::int64_t vectors, float by, float* x) const {
  const float *const cosines = cosines_.data() + t * half_, *const sines = sines_.data() + t * half_;
  for (; vectors > 0; --vectors, x += 2 * half_)
    for (std::int64_t i = 0; i < half_; ++i) {
      const float first = x[i], second = x[i + half_], sine = by * sines[i];
      x[i] = first * cosines[i] - second * sine;
      x[i + half_] = second * cosines[i] + first * sine;
    }
}

Value Rotation::trace(Value x, std::int64_t length, Graph& graph) const {
  const Value cosines = graph.constant("cosines", {length, half_}, cosines_),
              sines = graph.constant("sines", {length, half_}, sines_);
  const Value first = slice(graph, x, 3, 0, half_), second = slice(graph, x, 3, half_, 2 * half_);
  const auto combine = [&](std::string_view operation, Value of_cosines, Value of_sines) {
    const Value a = binary(graph, "Mul", of_cosines, cosines), b = binary(graph, "Mul", of_sines, sines);
    return binary(graph, operation, a, b);
  };
  return concatenate(graph, {combine("Sub", first, second), combine("Add", second, first)}, 3);
}

AttentionHeads::AttentionHeads(const Config& config)
    : config_(config),
      has_bias_(config.get<bool>("bias")),
      rotary_(config.get<bool>("rotary")),
      rotary_base_(config.get<double>("rotary_base")) {
  geometry_.heads = geometry_.key_heads = config.get<std::int64_t>("heads");
  geometry_.causal = config.get<bool>("causal");
  if (config.has("kv_heads")) geometry_.key_heads = config.get<std::int64_t>("kv_heads");
  if (geometry_.heads % geometry_.key_heads != 0)
    config.fail("kv_heads", fmt::format("{} heads of keys and values do not divide {} heads",
                                        geometry_.key_heads, geometry_.heads));
  sharing_ = geometry_.heads / geometry_.key_heads;
}

void AttentionHeads::fit(const Shape& sample, Plan& plan) {
  if (sample.rank() != 2)
    fail_to_fit(config_, plan, sample, "it requires a sequence of vectors",
                "`embedding` makes one of tokens");
  length_ = geometry_.length = plan.positions(sample[0]);
  is_stepwise_ = plan.is_stepwise();
  const std::int64_t width = sample[1];
  if (width % geometry_.heads != 0)
    fail_to_fit(config_, plan, sample,
                fmt::format("{} heads do not divide {} features", geometry_.heads, width));
  geometry_.head_size = width / geometry_.heads;
  if (rotary_ && geometry_.head_size % 2 != 0)
    fail_to_fit(
        config_, plan, sample,
        fmt::format("`rotary` requires heads of even size, they have {} features", geometry_.head_size));
  if (rotary_) rotation_ = Rotation(length_, geometry_.head_size, rotary_base_);
}

void AttentionHeads::book(std::int64_t features, Plan& plan) {
  features_ = features;
  geometry_.heads = features / geometry_.head_size;
  geometry_.key_heads = geometry_.heads / sharing_;
  const std::int64_t qkv = Shape{length_, geometry_.row()}.size(),
                     context = Shape{is_stepwise_ ? 1 : length_, features}.size();
  qkv_ = is_stepwise_ ? plan.carried(qkv) : plan.activation(qkv);
  context_ = plan.activation(context);
  stores_bfloat16_ = plan.stores_bfloat16();
  sums_ = is_stepwise_ ? plan.scratch(0, geometry_.sums_size()) : plan.saved(geometry_.sums_size());
  dqkv_ = plan.scratch(qkv);
  dcontext_ = plan.scratch(context);
  scores_ = plan.scratch(0, geometry_.scratch_size());
}

std::int64_t AttentionHeads::flops(std::int64_t features) const {
  // Scores and their products with values; a causal position needs half of both on average.
  return Plan::flops({geometry_.causal ? 1 : 2, length_, length_, features});
}

float* AttentionHeads::qkv(const Pass& pass) const {
  return pass.buffer(qkv_).data() + (is_stepwise_ ? pass.position(0, 0) * geometry_.row() : 0);
}

void AttentionHeads::forward(Pass& pass) const {
  if (is_stepwise_) return forward_stepwise(pass);
  float* const qkv = pass.buffer(qkv_).data();
  float* const context = pass.buffer(context_).data();
  turn(1, qkv, pass);
  // Sums of exponentials must belong to the scores that backward computes again.
  if (stores_bfloat16_ && pass.training()) round_to_bfloat16(pass.buffer(qkv_).span());
  for_each_sequence(pass, [&](const AttentionGeometry& geometry, std::int64_t first) {
    attention_forward(geometry, qkv + first * geometry.row(), context + first * geometry.width(),
                      pass.buffer(sums_).data() + first * geometry.sums_size() / geometry.length,
                      pass.buffer(scores_).data());
  });
  clear_padding(context, geometry_.width(), pass);
}

const float* AttentionHeads::backward(Pass& pass) const {
  float* const dqkv = pass.buffer(dqkv_).data();
  for_each_sequence(pass, [&](const AttentionGeometry& geometry, std::int64_t first) {
    attention_backward(geometry, pass.buffer(qkv_).data() + first * geometry.row(),
                       context(pass) + first * geometry.width(),
                       pass.buffer(sums_).data() + first * geometry.sums_size() / geometry.length,
                       dcontext(pass) + first * geometry.width(), dqkv + first * geometry.row(),
                       pass.buffer(scores_).data());
  });
  clear_padding(dqkv, geometry_.row(), pass);
  turn(-1, dqkv, pass);
  return dqkv;
}

template <class Visit>
void AttentionHeads::for_each_sequence(const Pass& pass, Visit visit) const {
  AttentionGeometry geometry = geometry_;
  for (std::int64_t row = 0; row < pass.rows(); ++row) {
    if (!pass.is_packed()) {
      geometry.filled = pass.length(row, length_);
      visit(geometry, row * length_);
      continue;
    }
    pass.for_each_document(row, length_, [&](std::int64_t first, std::int64_t length) {
      geometry.length = geometry.filled = length;
      visit(geometry, row * length_ + first);
    });
  }
}

void AttentionHeads::clear_padding(float* x, std::int64_t width, const Pass& pass) const {
  for (std::int64_t row = 0; row < pass.rows() && pass.is_packed(); ++row)
    std::fill(x + (row * length_ + pass.length(row, length_)) * width, x + (row + 1) * length_ * width, 0.0f);
}

/// The queries of some positions, after those whose keys and values earlier passes have left.
void AttentionHeads::forward_stepwise(const Pass& pass) const {
  const std::int64_t first = pass.position(0, 0);
  AttentionGeometry geometry = geometry_;
  geometry.first = first;
  geometry.length = geometry.filled = first + pass.rows();
  for (std::int64_t row = 0; row < pass.rows() && rotary_; ++row)
    rotation_.turn(first + row, geometry_.heads + geometry_.key_heads, 1, qkv(pass) + row * geometry_.row());
  attention_forward(geometry, pass.buffer(qkv_).data(), pass.buffer(context_).data(),
                    pass.buffer(sums_).data(), pass.buffer(scores_).data());
}

Value AttentionHeads::trace(Value qkv, Tracer& tracer) const {
  if (!geometry_.causal) tracer.require_no_padding();
  Graph& graph = tracer.graph;
  const std::int64_t heads = geometry_.heads, key_heads = geometry_.key_heads, size = geometry_.head_size;
  // (N, T, C) -> (N, heads, T, head size)
  const auto of_heads = [&](std::int64_t begin, std::int64_t count) {
    const Value part = slice(graph, qkv, 2, begin, begin + count * size);
    return transpose(graph, reshape(graph, part, {kBatch, length_, count, size}), {0, 2, 1, 3});
  };
  Value query = of_heads(0, heads), key = of_heads(features_, key_heads);
  const Value value = of_heads(features_ + geometry_.key_width(), key_heads);
  if (rotary_) {
    query = rotation_.trace(query, length_, graph);
    key = rotation_.trace(key, length_, graph);
  }
  // The queries of heads that share keys are one matrix.
  const auto regrouped = [&](Value x, std::int64_t groups, std::int64_t lines, std::int64_t last) {
    return sharing_ == 1 ? x : reshape(graph, x, {kBatch, groups, lines, last});
  };
  query = regrouped(query, key_heads, sharing_ * length_, size);
  Value scores = matrix_product(graph, query, transpose(graph, key, {0, 1, 3, 2}));
  scores = regrouped(scores, heads, length_, length_);
  scores = binary(graph, "Mul", scores, 1 / std::sqrt(static_cast<float>(size)));
  if (geometry_.causal) scores = binary(graph, "Add", scores, later_positions(graph));
  const Value shares = regrouped(softmax_along(graph, scores, 3), key_heads, sharing_ * length_, length_);
  const Value context = regrouped(matrix_product(graph, shares, value), heads, length_, size);
  return reshape(graph, transpose(graph, context, {0, 2, 1, 3}), {kBatch, length_, features_});
}

/// A number for each query and key that leaves nothing of the keys behind the query.
Value AttentionHeads::later_positions(Graph& graph) const {
  constexpr float kNothing = -1e30f;
  std::vector<float> mask(static_cast<std::size_t>(length_ * length_));
  for (std::int64_t query = 0; query < length_; ++query)
    for (std::int64_t key = query + 1; key < length_; ++key)
      mask[static_cast<std::size_t>(query * length_ + key)] = kNothing;
  return graph.constant("mask", {length_, length_}, std::move(mask));
}

/// Queries and keys of all positions; a key lies behind its query.
void AttentionHeads::turn(float by, float* qkv, const Pass& pass) const {
  if (!rotary_) return;
  for (std::int64_t row = 0; row < pass.rows(); ++row)
    for (std::int64_t t = 0; t < length_; ++t)
      rotation_.turn(pass.position(row, t), geometry_.heads + geometry_.key_heads, by,
                     qkv + (row * length_ + t) * geometry_.row());
}

}  // namespace trainer
