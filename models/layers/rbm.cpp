// rbm and reconstruct: a restricted Boltzmann machine, upwards and downwards.
#include <algorithm>
#include <span>
#include <string>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "engine/math/uniform.h"
#include "models/layers/layer.h"

namespace trainer {
namespace {

/// to = sigmoid(from W + bias), or of W transposed; W is (visible, hidden).
void find_probabilities(std::int64_t rows, ConstTensor weight, bool upwards, const float* from,
                        const float* bias, float* to) {
  const std::int64_t visible = weight.shape()[0], hidden = weight.shape()[1];
  const std::int64_t inputs = upwards ? visible : hidden, outputs = upwards ? hidden : visible;
  gemm(Transpose::no, upwards ? Transpose::no : Transpose::yes, rows, outputs, inputs, from, inputs,
       weight.data(), hidden, 0, to, outputs);
  bias_activate(Activation::sigmoid, rows, outputs, to, bias, to);
}

/// The same for all rows of a worker, block by block.
void find_all_probabilities(const Pass& pass, ParameterId weight, ParameterId bias, bool upwards,
                            ConstTensor x, Tensor y) {
  for (const Block& block : pass.blocks())
    find_probabilities(block.count, pass.value(weight), upwards, x.data() + block.first * x.row_size(),
                       pass.value(bias).data(), y.data() + block.first * y.row_size());
}

/// Units that are on or off, of which the input tells how likely the hidden ones are on. It learns by
/// contrastive divergence (Hinton 2002, "Training products of experts by minimizing contrastive divergence"),
/// to be like its input and unlike what it makes of that by itself; or by back-propagation, like any layer.
class Rbm final : public Layer {
 public:
  explicit Rbm(const Config& config)
      : config_(config),
        hidden_(config.get<std::int64_t>("units")),
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
      imagined_ = plan.scratch(visible_);
      answer_ = plan.scratch(hidden_);
      drawn_ = plan.scratch(hidden_);
    }
    flops_ = Plan::flops({visible_, hidden_});
    return {hidden_};
  }
  std::int64_t flops() const override { return flops_; }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    find_all_probabilities(pass, weight_, bias_, true, x, y);
  }

  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    for (const Block& block : pass.blocks()) {
      if (contrasts_)
        contrast(x, y, block, pass);
      else
        propagate(x, y, dy, block, pass);
      if (dx.empty()) continue;
      float* const to = dx.data() + block.first * visible_;
      if (contrasts_)
        std::fill_n(to, block.count * visible_, 0.0f);  // layers below learn by themselves
      else
        gemm(Transpose::no, Transpose::yes, block.count, visible_, hidden_, dy.data() + block.first * hidden_,
             hidden_, pass.value(weight_).data(), hidden_, 0, to, visible_);
    }
  }

 private:
  /// Gradients from what the input and the machine's own imagination have in common, and what not.
  void contrast(ConstTensor x, ConstTensor y, const Block& block, Pass& pass) const {
    const RandomStream random = pass.random(name_);
    const std::int64_t rows = block.count;
    const float* const seen = x.data() + block.first * visible_;
    const float* const stirred = y.data() + block.first * hidden_;
    float* const imagined = pass.buffer(imagined_).data() + block.first * visible_;
    float* const answer = pass.buffer(answer_).data() + block.first * hidden_;
    float* const drawn = pass.buffer(drawn_).data() + block.first * hidden_;
    for (std::int64_t step = 0; step < steps_; ++step) {
      const float* const probabilities = step == 0 ? stirred : answer;
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::span<float> units(drawn + row * hidden_, static_cast<std::size_t>(hidden_));
        const auto sample =
            static_cast<std::uint64_t>(pass.samples()[static_cast<std::size_t>(block.first + row)]);
        fill_uniform(random,
                     (sample * static_cast<std::uint64_t>(steps_) + static_cast<std::uint64_t>(step)) *
                         static_cast<std::uint64_t>(hidden_),
                     units);
        for (std::int64_t unit = 0; unit < hidden_; ++unit)
          drawn[row * hidden_ + unit] =
              drawn[row * hidden_ + unit] < probabilities[row * hidden_ + unit] ? 1.0f : 0.0f;
      }
      find_probabilities(rows, pass.value(weight_), false, drawn, pass.value(visible_bias_).data(), imagined);
      find_probabilities(rows, pass.value(weight_), true, imagined, pass.value(bias_).data(), answer);
    }
    const auto subtract = [&](const float* ours, const float* theirs, std::int64_t units, ParameterId bias) {
      float* const gradient = start(bias, block, pass);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t unit = 0; unit < units; ++unit)
          gradient[unit] += ours[row * units + unit] - theirs[row * units + unit];
      scale(units, 1.0f / static_cast<float>(pass.mean_rows()), gradient, gradient);
    };
    subtract(answer, stirred, hidden_, bias_);
    subtract(imagined, seen, visible_, visible_bias_);
    float* const gradient = start(weight_, block, pass);
    const std::int64_t size = visible_ * hidden_;
    gemm(Transpose::yes, Transpose::no, visible_, hidden_, rows, seen, visible_, stirred, hidden_, 0,
         gradient, hidden_);
    scale(size, -1, gradient, gradient);
    gemm(Transpose::yes, Transpose::no, visible_, hidden_, rows, imagined, visible_, answer, hidden_, 1,
         gradient, hidden_);
    scale(size, 1.0f / static_cast<float>(pass.mean_rows()), gradient, gradient);
  }

  void propagate(ConstTensor x, ConstTensor y, Tensor dy, const Block& block, Pass& pass) const {
    float* const slopes = dy.data() + block.first * hidden_;
    activate_backward(Activation::sigmoid, block.count * hidden_, y.data() + block.first * hidden_, slopes,
                      slopes);
    gemm(Transpose::yes, Transpose::no, visible_, hidden_, block.count, x.data() + block.first * visible_,
         visible_, slopes, hidden_, pass.adds_gradient(weight_) ? 1.0f : 0.0f,
         pass.gradient(weight_, block).data(), hidden_);
    column_sums(block.count, hidden_, slopes, false, pass.gradient(bias_, block).data());
    if (!pass.adds_gradient(visible_bias_)) start(visible_bias_, block, pass);
  }

  static float* start(ParameterId id, const Block& block, const Pass& pass) {
    const Tensor gradient = pass.gradient(id, block);
    std::ranges::fill(gradient.span(), 0.0f);
    return gradient.data();
  }

  Config config_;
  std::string name_;
  std::int64_t visible_ = 0, hidden_, steps_, flops_ = 0;
  bool contrasts_;
  ParameterId weight_, bias_, visible_bias_;
  BufferId imagined_, answer_, drawn_;
};

/// What the hidden units of an rbm tell of its visible ones: sigmoid(x W^T + visible bias).
class Reconstruct final : public Layer {
 public:
  explicit Reconstruct(const Config& config) : config_(config), of_(config.get<std::string>("of")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    const auto weight = plan.share(of_ + ".weight"), bias = plan.share(of_ + ".visible_bias");
    if (!weight || !bias)
      config_.fail("of", "no rbm before this layer is named `" + of_ + "`", "the first one is rbm1");
    weight_ = *weight;
    bias_ = *bias;
    const Shape shape = plan.parameter(weight_).shape;
    visible_ = shape[0];
    hidden_ = shape[1];
    if (sample.size() != hidden_)
      fail_to_fit(config_, plan, sample, of_ + " has " + std::to_string(hidden_) + " units");
    flops_ = Plan::flops({visible_, hidden_});
    return {visible_};
  }
  std::int64_t flops() const override { return flops_; }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    find_all_probabilities(pass, weight_, bias_, false, x, y);
  }

  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    for (const Block& block : pass.blocks()) {
      float* const slopes = dy.data() + block.first * visible_;
      activate_backward(Activation::sigmoid, block.count * visible_, y.data() + block.first * visible_,
                        slopes, slopes);
      gemm(Transpose::yes, Transpose::no, visible_, hidden_, block.count, slopes, visible_,
           x.data() + block.first * hidden_, hidden_, pass.adds_gradient(weight_) ? 1.0f : 0.0f,
           pass.gradient(weight_, block).data(), hidden_);
      column_sums(block.count, visible_, slopes, pass.adds_gradient(bias_),
                  pass.gradient(bias_, block).data());
      if (!dx.empty())
        gemm(Transpose::no, Transpose::no, block.count, hidden_, visible_, slopes, visible_,
             pass.value(weight_).data(), hidden_, 0, dx.data() + block.first * hidden_, hidden_);
    }
  }

 private:
  Config config_;
  std::string of_;
  std::int64_t visible_ = 0, hidden_ = 0, flops_ = 0;
  ParameterId weight_, bias_;
};

const Registry<Layer>::Add rbm{
    {.name = "rbm",
     .help =
         "restricted Boltzmann machine: from visible units in [0, 1] the probabilities of its hidden units",
     .primary = "units",
     .settings =
         {integer("units", "how many hidden units").at_least(1).at_most(1e9),
          choice("learn",
                 "contrast: by contrastive divergence, whatever comes behind; backprop: like a dense layer "
                 "with sigmoid",
                 {"contrast", "backprop"})
              .fallback("contrast"),
          integer("steps", "so many times it goes down and up for a contrast")
              .at_least(1)
              .at_most(1000)
              .fallback("1")}},
    [](const Config& config) { return std::make_unique<Rbm>(config); }};

const Registry<Layer>::Add reconstruct{
    {.name = "reconstruct",
     .help =
         "an rbm backwards: from its hidden units the probabilities of the visible ones, with its weights",
     .primary = "of",
     .settings = {text("of", "name of the rbm")}},
    [](const Config& config) { return std::make_unique<Reconstruct>(config); }};

}  // namespace
}  // namespace trainer
