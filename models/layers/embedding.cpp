#include "models/layers/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/core/elementary.h"
#include "engine/math/elementwise.h"
#include "models/layers/position_table.h"
#include "models/layers/tracer.h"

namespace trainer {

Embedding::Embedding(const Config& config)
    : config_(config),
      units_(config.get<std::int64_t>("units")),
      vocabulary_(config.get<std::int64_t>("vocabulary")),
      positions_(config.get<std::string>("positions")) {}

Shape Embedding::setup(const Shape& sample, Plan& plan) {
  if (sample.rank() != 1)
    fail_to_fit(config_, plan, sample, "it requires a sequence of tokens",
                "put it first, behind `text` data");
  length_ = sample[0];
  name_ = plan.layer_name();
  Parameter weight{
      .name = "weight", .shape = {vocabulary_, units_}, .fan_in = vocabulary_, .fan_out = units_};
  if (held_) {
    weight.whole = weight.shape;
    weight.shape = {held_->count(), units_};
    weight.shard_axis = 0;
    weight.shard_first = held_->first;
  }
  weight_ = plan.parameter(std::move(weight));
  const std::int64_t whole = positions_ == "none" ? length_ : plan.positions(length_);
  if (positions_ == "learned")
    position_ =
        plan.parameter({.name = "positions", .shape = {whole, units_}, .fan_in = whole, .fan_out = units_});
  if (positions_ == "sinusoidal") draw_waves(whole);
  plan.backward_reads(true, false);
  return {length_, units_};
}

void Embedding::forward(ConstTensor x, Tensor y, Pass& pass) {
  const float* const table = pass.value(weight_).data();
  const float* const added = positions_ == "learned" ? pass.value(position_).data() : waves_.data();
  for (std::int64_t row = 0; row < pass.rows(); ++row)
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t at = row * length_ + t, id = token(x[at]);
      float* const to = y.data() + at * units_;
      if (!holds(id)) {
        // Minus zero keeps every other summand's bits, the sign of a zero, too.
        std::fill_n(to, units_, -0.0f);
        continue;
      }
      const float* const from = table + row_of(id) * units_;
      if (positions_ == "none")
        std::copy_n(from, units_, to);
      else
        add(units_, from, added + pass.position(row, t) * units_, to);
    }
}

void Embedding::backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) {
  for (const VirtualWorker& worker : pass.virtual_workers()) {
    const Tensor gradient = pass.gradient(weight_, worker);
    if (!pass.adds_gradient(weight_)) std::ranges::fill(gradient.span(), 0.0f);
    for (std::int64_t at = worker.first * length_; at < (worker.first + worker.count) * length_; ++at)
      if (const std::int64_t id = token(x[at]); holds(id))
        accumulate(units_, dy.data() + at * units_, gradient.data() + row_of(id) * units_);
    if (positions_ == "learned") sum_by_position(dy, worker, pass.gradient(position_, worker), pass);
  }
  // Tokens have no gradient.
  if (!dx.empty()) std::ranges::fill(dx.span(), 0.0f);
}

Value Embedding::trace(Value x, Tracer& tracer) const {
  Graph& graph = tracer.graph;
  const Value rows =
      graph.add("Gather", {tracer.parameter(weight_), token_ids(graph, x)}, {kBatch, length_, units_});
  if (positions_ == "none") return rows;
  return binary(graph, "Add", rows,
                positions_ == "learned" ? tracer.parameter(position_)
                                        : graph.constant("waves", {length_, units_}, waves_));
}

std::int64_t Embedding::token(float id) const {
  if (id >= 0 && id < static_cast<float>(vocabulary_)) return static_cast<std::int64_t>(id);
  throw Error(ExitCode::data,
              fmt::format("{} got token {}, but its vocabulary is {}", name_, id, vocabulary_),
              "`vocabulary: $vocab`, which the data gives");
}

/// Sines and cosines of wavelengths from 2 pi to 10,000 times that (Vaswani et al. 2017, section 3.5).
void Embedding::draw_waves(std::int64_t length) {
  waves_.resize(static_cast<std::size_t>(Shape{length, units_}.size()));
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      const std::int64_t even = unit - unit % 2;
      const double wave = elementary::pow(10000.0, -static_cast<double>(even) / static_cast<double>(units_));
      const double angle = static_cast<double>(t) * wave;
      waves_[static_cast<std::size_t>(t * units_ + unit)] =
          static_cast<float>(unit % 2 == 0 ? elementary::sin(angle) : elementary::cos(angle));
    }
}

namespace {

const Registry<Layer>::Add embedding_layer{
    {.name = "embedding",
     .help = "token embedding: a learned vector for each token of a sequence",
     .primary = "units",
     .settings = {integer("units", "size of the vector of a token").at_least(1).at_most(1e9),
                  choice("positions", "position embedding that is added: a second learned table, or sines",
                         {"none", "learned", "sinusoidal"})
                      .fallback("none"),
                  integer("vocabulary", "number of tokens").at_least(1).at_most(1 << 24).fallback("$vocab")}},
    [](const Config& config) { return std::make_unique<Embedding>(config); }};

}  // namespace
}  // namespace trainer
