#include "engine/math/normalization.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = w (x - mean) / sqrt(variance + epsilon) + b with mean and variance over the features of a position, or
/// the channels of a map (Ba, Kiros and Hinton 2016); where it does not center, y = w x / sqrt(mean of x^2 +
/// epsilon) (Zhang and Sennrich 2019, "Root mean square layer normalization"). The shape stays.
class LayerNorm final : public Layer {
 public:
  LayerNorm(const Config& config, bool centers)
      : centers_(centers),
        has_bias_(centers && config.get<bool>("bias")),
        epsilon_(config.get<float>("epsilon")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    features_ = sample[sample.rank() - 1];
    positions_ = sample.with_last(1).size();
    weight_ = plan.parameter({.name = "weight", .shape = {features_}, .is_weight = false, .constant = 1});
    if (has_bias_) bias_ = plan.parameter({.name = "bias", .shape = {features_}, .is_weight = false});
    if (centers_) mean_ = plan.saved(positions_);
    inverse_deviation_ = plan.saved(positions_);
    plan.backward_reads(true, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    layer_norm(pass.rows() * positions_, features_, x.data(), pass.value(weight_).data(),
               has_bias_ ? pass.value(bias_).data() : nullptr, epsilon_, y.data(), mean_of(pass),
               pass.buffer(inverse_deviation_).data());
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const float* const mean = mean_of(pass);
    const float* const inverse_deviation = pass.buffer(inverse_deviation_).data();
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const std::int64_t first = worker.first * positions_, count = worker.count * positions_;
      layer_norm_gradients(count, features_, x.data() + first * features_, dy.data() + first * features_,
                           mean ? mean + first : nullptr, inverse_deviation + first,
                           pass.gradient(weight_, worker).data(),
                           has_bias_ ? pass.gradient(bias_, worker).data() : nullptr);
    }
    if (!dx.empty())
      layer_norm_backward(pass.rows() * positions_, features_, x.data(), dy.data(), mean, inverse_deviation,
                          pass.value(weight_).data(), dx.data());
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const bool is_map = graph.at(x).rank() == 4;
    std::vector<Value> inputs{is_map ? transpose(graph, x, {0, 2, 3, 1}) : x, tracer.parameter(weight_)};
    if (has_bias_) inputs.push_back(tracer.parameter(bias_));
    const Extents extents = graph.extents(inputs.front());
    const Value y = centers_ ? graph.add("LayerNormalization", std::move(inputs), extents,
                                         {{"axis", std::int64_t{-1}}, {"epsilon", epsilon_}})
                             : trace_scaled(inputs[0], inputs[1], graph);
    return is_map ? transpose(graph, y, {0, 3, 1, 2}) : y;
  }

 private:
  /// Null if it does not center.
  float* mean_of(const Pass& pass) const { return centers_ ? pass.buffer(mean_).data() : nullptr; }
  Value trace_scaled(Value x, Value weight, Graph& graph) const {
    const auto last = static_cast<std::int64_t>(graph.extents(x).size()) - 1;
    const Value square = mean(graph, binary(graph, "Mul", x, x), {last});
    const Value root = unary(graph, "Sqrt", binary(graph, "Add", square, epsilon_));
    return binary(graph, "Mul", binary(graph, "Div", x, root), weight);
  }

  bool centers_, has_bias_;
  float epsilon_;
  std::int64_t features_ = 0, positions_ = 0;
  ParameterId weight_, bias_;
  Buffer<> mean_, inverse_deviation_;
};

const Registry<Layer>::Add layer_norm_layer{
    {.name = "layer_norm",
     .help =
         "layer normalization: the features of each position to mean 0 and variance 1, then scale and shift",
     .settings = {boolean("bias", "add a bias to each feature").fallback("true"),
                  real("epsilon", "added to the variance").above(0).fallback("1e-5")}},
    [](const Config& config) { return std::make_unique<LayerNorm>(config, true); }};
const Registry<Layer>::Add root_mean_square_layer{
    {.name = "rms_norm",
     .help =
         "the features of each position over their root mean square, then scaled: a layer_norm without mean "
         "and bias",
     .primary = "epsilon",
     .settings = {real("epsilon", "added to the mean square").above(0).fallback("1e-6")}},
    [](const Config& config) { return std::make_unique<LayerNorm>(config, false); }};

}  // namespace
}  // namespace trainer
