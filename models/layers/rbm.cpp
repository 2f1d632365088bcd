// rbm and reconstruct: a restricted Boltzmann machine as encoder and as decoder.
#include <algorithm>
#include <span>
#include <string>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "engine/math/uniform.h"
#include "models/layers/layer.h"
#include "models/layers/linear.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = sigmoid(x W + bias)
void find_probabilities(const Linear& product, std::int64_t units, const float* x, float* y,
                        const Pass& pass) {
  product.forward(x, y, pass);
  bias_activate(Activation::sigmoid, pass.rows(), units, y, product.bias_values(pass), y);
}

/// The units of a sample in the order of memory, (N, units): a map's channels come last.
Value as_vector(Value x, std::int64_t units, Tracer& tracer) {
  Graph& graph = tracer.graph;
  if (graph.at(x).rank() == 4) x = transpose(graph, x, {0, 2, 3, 1});
  return graph.at(x).rank() == 2 ? x : reshape(graph, x, {kBatch, units});
}

/// Restricted Boltzmann machine: the probabilities sigmoid(x W + b) of its binary hidden units, (visible) ->
/// (hidden). It learns by contrastive divergence (Hinton 2002, "Training products of experts by minimizing
/// contrastive divergence"), whose positive phase is the input and whose negative phase is a few steps of
/// Gibbs sampling; or by back-propagation.
class Rbm final : public Layer {
 public:
  explicit Rbm(const Config& config)
      : hidden_(config.get<std::int64_t>("units")),
        steps_(config.get<std::int64_t>("steps")),
        contrasts_(config.get<std::string>("learn") == "contrast") {}

  Shape setup(const Shape& sample, Plan& plan) override {
    name_ = plan.layer_name();
    visible_ = sample.size();
    weight_ = plan.parameter({.name = "weight",
                              .shape = {visible_, hidden_},
                              .layout = FileLayout::dense,
                              .fan_in = visible_,
                              .fan_out = hidden_});
    bias_ = plan.parameter({.name = "bias", .shape = {hidden_}, .is_weight = false});
    visible_bias_ = plan.parameter({.name = "visible_bias", .shape = {visible_}, .is_weight = false});
    if (contrasts_) {
      sampled_visible_ = plan.scratch(visible_);
      sampled_hidden_ = plan.scratch(hidden_);
      drawn_ = plan.scratch(hidden_);
    }
    up_ = Linear({1, visible_, hidden_}, weight_, bias_);
    down_ = Linear({1, hidden_, visible_}, weight_, visible_bias_, true);
    flops_ = Plan::flops({visible_, hidden_});
    return {hidden_};
  }
  std::int64_t flops() const override { return flops_; }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    find_probabilities(up_, hidden_, x.data(), y.data(), pass);
  }

  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    if (contrasts_) {
      contrast(x, y, pass);
      std::ranges::fill(dx.span(), 0.0f);  // layers below learn by themselves
      return;
    }
    activate_backward(Activation::sigmoid, dy.size(), y.data(), dy.data(), dy.data());
    up_.backward(x.data(), dy.data(), dx.data(), pass);
    for (const VirtualWorker& worker : pass.virtual_workers())
      if (!pass.adds_gradient(visible_bias_)) start(visible_bias_, worker, pass);
  }
  Value trace(Value x, Tracer& tracer) const override {
    return unary(tracer.graph, "Sigmoid", up_.trace(as_vector(x, visible_, tracer), tracer));
  }

 private:
  /// Gradients of contrastive divergence: the correlations of the negative phase less those of the positive.
  void contrast(ConstTensor x, ConstTensor y, Pass& pass) const {
    float* const visible = pass.buffer(sampled_visible_).data();
    float* const hidden = pass.buffer(sampled_hidden_).data();
    for (std::int64_t step = 0; step < steps_; ++step) {
      draw(step, step == 0 ? y.data() : hidden, pass);
      find_probabilities(down_, visible_, pass.buffer(drawn_).data(), visible, pass);
      find_probabilities(up_, hidden_, visible, hidden, pass);
    }
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const std::int64_t v = worker.first * visible_, h = worker.first * hidden_;
      subtract(hidden + h, y.data() + h, hidden_, bias_, worker, pass);
      subtract(visible + v, x.data() + v, visible_, visible_bias_, worker, pass);
      float* const gradient = start(weight_, worker, pass);
      const std::int64_t size = visible_ * hidden_;
      gemm(Transpose::yes, Transpose::no, visible_, hidden_, worker.count, x.data() + v, visible_,
           y.data() + h, hidden_, 0, gradient, hidden_);
      scale(size, -1, gradient, gradient);
      gemm(Transpose::yes, Transpose::no, visible_, hidden_, worker.count, visible + v, visible_, hidden + h,
           hidden_, 1, gradient, hidden_);
      scale(size, 1.0f / static_cast<float>(pass.mean_rows()), gradient, gradient);
    }
  }

  /// Draws hidden units from their probabilities; the random numbers follow from sample and step.
  void draw(std::int64_t step, const float* probabilities, const Pass& pass) const {
    const RandomStream random = pass.random(name_);
    float* const drawn = pass.buffer(drawn_).data();
    for (std::int64_t row = 0; row < pass.rows(); ++row) {
      const std::int64_t sample = pass.samples()[static_cast<std::size_t>(row)];
      const std::span<float> units(drawn + row * hidden_, static_cast<std::size_t>(hidden_));
      fill_uniform(random,
                   static_cast<std::uint64_t>(sample * steps_ + step) * static_cast<std::uint64_t>(hidden_),
                   units);
      const float* const limits = probabilities + row * hidden_;
      for (std::size_t unit = 0; unit < units.size(); ++unit)
        units[unit] = units[unit] < limits[unit] ? 1.0f : 0.0f;
    }
  }

  /// The gradient of a bias: the mean of negative - positive, (rows of the worker, units).
  static void subtract(const float* negative, const float* positive, std::int64_t units, ParameterId bias,
                       const VirtualWorker& worker, const Pass& pass) {
    float* const gradient = start(bias, worker, pass);
    for (std::int64_t row = 0; row < worker.count; ++row)
      for (std::int64_t unit = 0; unit < units; ++unit)
        gradient[unit] += negative[row * units + unit] - positive[row * units + unit];
    scale(units, 1.0f / static_cast<float>(pass.mean_rows()), gradient, gradient);
  }

  static float* start(ParameterId id, const VirtualWorker& worker, const Pass& pass) {
    const Tensor gradient = pass.gradient(id, worker);
    std::ranges::fill(gradient.span(), 0.0f);
    return gradient.data();
  }

  std::string name_;
  std::int64_t visible_ = 0, hidden_, steps_, flops_ = 0;
  bool contrasts_;
  ParameterId weight_, bias_, visible_bias_;
  Buffer<> sampled_visible_, sampled_hidden_, drawn_;
  Linear up_, down_;
};

/// The probabilities of the visible units of an rbm from its hidden ones: sigmoid(x W' + visible bias),
/// (hidden) -> (visible).
class Reconstruct final : public Layer {
 public:
  explicit Reconstruct(const Config& config) : config_(config), of_(config.get<std::string>("of")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    const auto weight = plan.share(of_ + ".weight"), bias = plan.share(of_ + ".visible_bias");
    if (!weight || !bias)
      config_.fail("of", "no rbm before this layer is named `" + of_ + "`", "the first one is rbm1");
    const Shape shape = plan.parameter(*weight).shape;
    visible_ = shape[0];
    hidden_ = shape[1];
    if (sample.size() != hidden_)
      fail_to_fit(config_, plan, sample, of_ + " has " + std::to_string(hidden_) + " units");
    down_ = Linear({1, hidden_, visible_}, *weight, *bias, true);
    flops_ = Plan::flops({visible_, hidden_});
    return {visible_};
  }
  std::int64_t flops() const override { return flops_; }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    find_probabilities(down_, visible_, x.data(), y.data(), pass);
  }

  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    activate_backward(Activation::sigmoid, dy.size(), y.data(), dy.data(), dy.data());
    down_.backward(x.data(), dy.data(), dx.data(), pass);
  }
  Value trace(Value x, Tracer& tracer) const override {
    return unary(tracer.graph, "Sigmoid", down_.trace(as_vector(x, hidden_, tracer), tracer));
  }

 private:
  Config config_;
  std::string of_;
  std::int64_t visible_ = 0, hidden_ = 0, flops_ = 0;
  Linear down_;
};

const Registry<Layer>::Add rbm_layer{
    {.name = "rbm",
     .help =
         "restricted Boltzmann machine: from visible units in [0, 1] the probabilities of its hidden units",
     .primary = "units",
     .settings =
         {integer("units", "number of hidden units").at_least(1).at_most(1e9),
          choice("learn",
                 "contrast: by contrastive divergence, whatever the loss; backprop: like a dense layer with "
                 "sigmoid",
                 {"contrast", "backprop"})
              .fallback("contrast"),
          integer("steps", "steps of Gibbs sampling for contrastive divergence")
              .at_least(1)
              .at_most(1000)
              .fallback("1")}},
    [](const Config& config) { return std::make_unique<Rbm>(config); }};

const Registry<Layer>::Add reconstruct_layer{
    {.name = "reconstruct",
     .help = "the decoder of an rbm: from its hidden units the probabilities of the visible ones, with its "
             "weights",
     .primary = "of",
     .settings = {text("of", "name of the rbm")}},
    [](const Config& config) { return std::make_unique<Reconstruct>(config); }};

}  // namespace
}  // namespace trainer
