#include "models/layers/attention.h"

#include <memory>

#include "models/layers/tracer.h"

namespace trainer {

Shape Attention::setup(const Shape& sample, Plan& plan) {
  heads_.fit(sample, plan);
  const std::int64_t width = sample[1];
  const auto projection = [&](std::int64_t outputs, const char* weight, const char* bias) {
    const Linear::Extents extents{sample[0], width, outputs};
    return AdaptedLinear(plan, extents, Linear::weight(extents, weight),
                         heads_.has_bias() ? std::optional(Linear::bias(outputs, bias)) : std::nullopt,
                         adapter_);
  };
  const std::int64_t projected = heads_.projected(width);
  in_projection_ = projection(projected, "in_proj_weight", "in_proj_bias");
  out_projection_ = projection(width, "out_proj.weight", "out_proj.bias");
  heads_.book(width, plan);
  plan.backward_reads(true, false);
  flops_ = Plan::flops({plan.positions(sample[0]), width, width + projected}) + heads_.flops(width) +
           in_projection_.adapter_flops() + out_projection_.adapter_flops();
  return sample;
}

void Attention::forward(ConstTensor x, Tensor y, Pass& pass) {
  float* const qkv = heads_.qkv(pass);
  in_projection_.forward(x.data(), qkv, pass);
  in_projection_.add_bias(qkv, pass);
  heads_.forward(pass);
  out_projection_.forward(heads_.context(pass), y.data(), pass);
  out_projection_.add_bias(y.data(), pass);
}

void Attention::backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) {
  out_projection_.backward(heads_.context(pass), dy.data(), heads_.dcontext(pass), pass);
  in_projection_.backward(x.data(), heads_.backward(pass), dx.data(), pass);
}

Value Attention::trace(Value x, Tracer& tracer) const {
  return out_projection_.trace(heads_.trace(in_projection_.trace(x, tracer), tracer), tracer);
}

namespace {

const Registry<Layer>::Add attention_layer{
    {.name = "attention",
     .help = "multi-head self-attention",
     .primary = "heads",
     .settings =
         {integer("heads", "number of attention heads, which share the features").at_least(1).at_most(1e6),
          boolean("causal", "mask later positions").fallback("false"),
          integer("kv_heads",
                  "heads of keys and values, each shared by as many neighbouring heads (default: as many as "
                  "heads)")
              .at_least(1)
              .at_most(1e6)
              .optional(),
          boolean("rotary", "rotary position embedding of queries and keys").fallback("false"),
          real("rotary_base", "base of the wave lengths of `rotary`: larger for longer texts")
              .above(1)
              .fallback("10000"),
          boolean("bias", "add biases to queries, keys, values and outputs").fallback("true"),
          adapter_setting()}},
    [](const Config& config) { return std::make_unique<Attention>(config); }};

}  // namespace
}  // namespace trainer
