#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/math/elementwise.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The row of each token in a table (vocabulary, units), plus a position embedding where set: (T) -> (T,
/// units).
class Embedding final : public Layer {
 public:
  explicit Embedding(const Config& config)
      : config_(config),
        units_(config.get<std::int64_t>("units")),
        vocabulary_(config.get<std::int64_t>("vocabulary")),
        positions_(config.get<std::string>("positions")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    if (sample.rank() != 1)
      fail_to_fit(config_, plan, sample, "it requires a sequence of tokens",
                  "put it first, behind `text` data");
    length_ = sample[0];
    name_ = plan.layer_name();
    weight_ = plan.parameter(
        {.name = "weight", .shape = {vocabulary_, units_}, .fan_in = vocabulary_, .fan_out = units_});
    const std::int64_t whole = positions_ == "none" ? length_ : plan.positions(length_);
    if (positions_ == "learned")
      position_ =
          plan.parameter({.name = "positions", .shape = {whole, units_}, .fan_in = whole, .fan_out = units_});
    if (positions_ == "sinusoidal") draw_waves(whole);
    plan.backward_reads(true, false);
    return {length_, units_};
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const float* const table = pass.value(weight_).data();
    const float* const added = positions_ == "learned" ? pass.value(position_).data() : waves_.data();
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      for (std::int64_t t = 0; t < length_; ++t) {
        const std::int64_t at = row * length_ + t;
        const float* const from = table + token(x[at]) * units_;
        float* const to = y.data() + at * units_;
        if (positions_ == "none")
          std::copy_n(from, units_, to);
        else
          add(units_, from, added + pass.position(row, t) * units_, to);
      }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const Tensor gradient = pass.gradient(weight_, worker);
      if (!pass.adds_gradient(weight_)) std::ranges::fill(gradient.span(), 0.0f);
      for (std::int64_t at = worker.first * length_; at < (worker.first + worker.count) * length_; ++at)
        accumulate(units_, dy.data() + at * units_, gradient.data() + token(x[at]) * units_);
      // Summed over rows: a position's columns of all samples lie one behind the other.
      if (positions_ == "learned")
        column_sums(worker.count, length_ * units_, dy.data() + worker.first * length_ * units_, false,
                    pass.gradient(position_, worker).data());
    }
    // Tokens have no gradient.
    if (!dx.empty()) std::ranges::fill(dx.span(), 0.0f);
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const Value rows =
        graph.add("Gather", {tracer.parameter(weight_), token_ids(graph, x)}, {kBatch, length_, units_});
    if (positions_ == "none") return rows;
    return binary(graph, "Add", rows,
                  positions_ == "learned" ? tracer.parameter(position_)
                                          : graph.constant("waves", {length_, units_}, waves_));
  }

 private:
  std::int64_t token(float id) const {
    if (id >= 0 && id < static_cast<float>(vocabulary_)) return static_cast<std::int64_t>(id);
    throw Error(ExitCode::data,
                fmt::format("{} got token {}, but its vocabulary is {}", name_, id, vocabulary_),
                "`vocabulary: $vocab`, which the data gives");
  }

  /// Sines and cosines of wavelengths from 2 pi to 10,000 times that (Vaswani et al. 2017, section 3.5).
  void draw_waves(std::int64_t length) {
    waves_.resize(static_cast<std::size_t>(Shape{length, units_}.size()));
    for (std::int64_t t = 0; t < length; ++t)
      for (std::int64_t unit = 0; unit < units_; ++unit) {
        const std::int64_t even = unit - unit % 2;
        const double wave = std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(units_));
        const double angle = static_cast<double>(t) * wave;
        waves_[static_cast<std::size_t>(t * units_ + unit)] =
            static_cast<float>(unit % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
  }

  Config config_;
  std::int64_t units_, vocabulary_, length_ = 0;
  std::string positions_, name_;
  ParameterId weight_, position_;
  std::vector<float> waves_;
};

const Registry<Layer>::Add registered{
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
