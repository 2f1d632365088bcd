#include "models/layers/dense.h"

#include <fmt/format.h>

#include "models/layers/activation_setting.h"

namespace trainer {

DenseSettings::DenseSettings(const Config& config)
    : bias(config.get<bool>("bias")),
      tied_to(config.has("tie") ? config.get<std::string>("tie") : ""),
      activation(activation_of(config)),
      adapter(adapter_settings(config)) {
  if (adapter.rank > 0 && !tied_to.empty())
    config.fail("lora", "a layer that shares a weight has no adapter", "`lora: ~` in this layer");
  if (config.has("units"))
    units = config.get<std::int64_t>("units");
  else
    expand = config.get<std::int64_t>("expand");
}

Shape Dense::setup(const Shape& sample, Plan& plan) {
  const std::int64_t inputs = sample[sample.rank() - 1];
  units_ = settings_.expand > 0 ? Shape{settings_.expand, inputs}.size() : settings_.units;
  positions_ = sample.with_last(1).size();
  flops_ = Plan::flops({positions_, inputs, units_});
  const Linear::Extents extents{positions_, inputs, units_};
  const std::optional<Parameter> bias = settings_.bias ? std::optional(Linear::bias(units_)) : std::nullopt;
  if (settings_.tied_to.empty()) {
    product_ = AdaptedLinear(plan, extents, Linear::weight(extents), bias, settings_.adapter);
    flops_ += product_.adapter_flops();
  } else {
    const ParameterId weight = find_tied_weight(extents, sample, plan);
    product_ = AdaptedLinear(Linear(extents, weight, bias ? plan.parameter(*bias) : ParameterId(), true));
  }
  in_parts_ = settings_.tied_to.empty() && !product_.has_adapter();
  if (in_parts_) plan.acquires_parts();
  const Shape output = sample.with_last(units_);
  activation_ = FusedActivation(settings_.activation);
  activation_.setup(output.size(), plan);
  plan.backward_reads(true, activation_.reads_y());
  return output;
}

ParameterId Dense::find_tied_weight(const Linear::Extents& extents, const Shape& sample, Plan& plan) const {
  const std::string& layer = settings_.tied_to;
  const std::optional<ParameterId> shared = plan.share(layer + ".weight");
  if (!shared)
    config_.fail("tie", fmt::format("no layer before this one is named `{}` and has a weight", layer),
                 "give it a `name`");
  const Parameter& weight = plan.parameter(*shared);
  if (weight.shape != Shape{extents.outputs, extents.inputs})
    fail_to_fit(config_, plan, sample,
                fmt::format("{} units from {} inputs, but {} is {}", extents.outputs, extents.inputs,
                            weight.name, weight.shape.text()));
  return *shared;
}

void Dense::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const sums = activation_.sums(y, pass);
  if (in_parts_)
    product_.product().forward_in_parts(x.data(), sums, pass);
  else
    product_.forward(x.data(), sums, pass);
  activation_.forward(pass.rows() * positions_, units_, sums, product_.bias_values(pass), y.data());
}

void Dense::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  activation_.backward(y, dy, pass);
  if (in_parts_)
    product_.product().backward_in_parts(x.data(), dy.data(), dx.data(), pass);
  else
    product_.backward(x.data(), dy.data(), dx.data(), pass);
}

namespace {

const Registry<Layer>::Add dense_layer{
    {.name = "dense",
     .help = "fully connected: f(x W + b); a map is flattened in the order channels, height, width",
     .primary = "units",
     .settings =
         {integer("units", "number of outputs").at_least(1).at_most(1e9).optional().exclusive_with("expand"),
          integer("expand", "number of outputs for each input")
              .at_least(1)
              .at_most(1e6)
              .optional()
              .exclusive_with("units"),
          boolean("bias", "add a bias to each output").fallback("true"), activation_setting(),
          text("tie",
               "name of an earlier layer, such as an embedding, whose weight this one shares and uses "
               "transposed")
              .optional(),
          adapter_setting()}},
    [](const Config& config) { return std::make_unique<Dense>(config); }};

}  // namespace
}  // namespace trainer
