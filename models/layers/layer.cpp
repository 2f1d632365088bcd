#include "models/layers/layer.h"

#include <fmt/format.h>

#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The settings that every layer takes beside its own.
const bool shared_settings_declared = [] {
  Catalog::all().family(Layer::kFamily).shared = {
      text("name", "name of the layer in messages, checkpoints and the summary").optional(),
      family("init", "initial weights; biases begin at 0", "initializer").fallback("glorot"),
      text("lr", "factor of the learning rate, such as `x0.1`, also for layers inside").optional(),
      boolean(
          "frozen",
          "training does not change its parameters, nor those of layers inside; `weights`: all but biases")
          .or_word("weights")
          .optional()};
  return true;
}();

}  // namespace

Value Layer::trace(Value, Tracer& tracer) const {
  throw Error(ExitCode::usage, "the layer " + tracer.graph.layer() + " cannot be exported as operations",
              "npz holds the weights of any model");
}

void fail_to_fit(const Config& config, const Plan& plan, const Shape& sample, const std::string& what,
                 const std::string& help) {
  config.fail(
      "", fmt::format("{} does not fit: {}, input {}", plan.layer_name(), what, channels_first_text(sample)),
      help);
}

void require_map(const Config& config, const Plan& plan, const Shape& sample) {
  if (sample.rank() != 3)
    fail_to_fit(config, plan, sample, "it requires a map of channels x height x width",
                "put it before the first dense or flatten");
}

}  // namespace trainer
