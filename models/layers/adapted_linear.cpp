#include "models/layers/adapted_linear.h"

#include <string>

#include "engine/math/elementwise.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// "out_proj." of "out_proj.weight", "in_proj." of "in_proj_weight", nothing of "weight".
std::string prefix_of(const std::string& weight) {
  const std::size_t end = weight.rfind("weight");
  return end == 0 ? "" : weight.substr(0, end - 1) + ".";
}

}  // namespace

Setting adapter_setting() {
  return section("lora",
                 "trains two matrices of low rank beside the weight, which is frozen; so is all else without "
                 "`frozen: false`",
                 {integer("rank", "columns of the first matrix, rows of the second")
                      .at_least(1)
                      .at_most(1e6)
                      .fallback("8"),
                  real("alpha", "the product of both is added alpha / rank times").above(0).fallback("16")})
      .optional();
}

AdapterSettings adapter_settings(const Config& layer) {
  if (!layer.has("lora")) return {};
  if (layer.has("frozen") && !layer.is_word("frozen", "weights") && layer.get<bool>("frozen"))
    layer.fail("lora", "adapters of a frozen layer do not train",
               "remove `frozen: true`: beside an adapter the weight is frozen anyway");
  const Config lora = layer.at("lora");
  const auto rank = lora.get<std::int64_t>("rank");
  return {.rank = rank,
          .scale = lora.get<float>("alpha") / static_cast<float>(rank),
          .trains_bias = layer.has("frozen")};
}

AdaptedLinear::AdaptedLinear(Plan& plan, const Linear::Extents& extents, Parameter weight,
                             std::optional<Parameter> bias, const AdapterSettings& adapter) {
  const std::string prefix = prefix_of(weight.name);
  weight.is_frozen = adapter.rank > 0;
  if (bias) bias->is_frozen = adapter.rank > 0 && !adapter.trains_bias;
  product_ = Linear(plan, extents, std::move(weight), bias);
  if (adapter.rank == 0) return;
  const Linear::Extents down{extents.positions, extents.inputs, adapter.rank},
      up{extents.positions, adapter.rank, extents.outputs};
  Parameter a = Linear::weight(down, prefix + "lora_A.weight");
  Parameter b = Linear::weight(up, prefix + "lora_B.weight");
  a.adapter = Parameter::Adapter::down;
  b.adapter = Parameter::Adapter::up;
  down_ = Linear(plan, down, std::move(a), std::nullopt);
  up_ = Linear(plan, up, std::move(b), std::nullopt);
  scale_ = adapter.scale;
  plan.adapter({.weight = product_.weight(), .down = down_.weight(), .up = up_.weight(), .scale = scale_});
  inner_of_row_ = Shape{extents.positions, adapter.rank}.size();
  inner_ = plan.activation(inner_of_row_);
  dinner_ = plan.scratch(inner_of_row_);
  adapter_flops_ = Plan::flops({extents.positions, extents.inputs + extents.outputs, adapter.rank});
}

void AdaptedLinear::forward(const float* x, float* y, const Pass& pass) const {
  product_.forward(x, y, pass);
  if (scale_ == 0) return;
  float* const inner = pass.buffer(inner_).data();
  down_.forward(x, inner, pass);
  scale(pass.rows() * inner_of_row_, scale_, inner, inner);
  up_.forward(inner, y, pass, true);
}

void AdaptedLinear::backward(const float* x, const float* dy, float* dx, Pass& pass) const {
  product_.backward(x, dy, dx, pass);
  if (scale_ == 0) return;
  float* const dinner = pass.buffer(dinner_).data();
  up_.backward(pass.buffer(inner_).data(), dy, dinner, pass);
  scale(pass.rows() * inner_of_row_, scale_, dinner, dinner);
  down_.backward_parameters(x, dinner, pass);
  if (dx) down_.backward_data(dinner, dx, pass, true);
}

Value AdaptedLinear::trace(Value x, Tracer& tracer) const { return product_.trace(x, tracer); }

}  // namespace trainer
