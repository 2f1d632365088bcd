#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/config/config.h"
#include "engine/config/setting.h"
#include "models/layers/linear.h"

namespace trainer {

/// The key `lora` of a layer.
struct AdapterSettings {
  std::int64_t rank = 0;  ///< 0: no adapter
  float scale = 0;        ///< alpha / rank
  bool trains_bias = false;
};
Setting adapter_setting();
/// Error(usage) if the layer is frozen as a whole, so that its adapter would not train.
AdapterSettings adapter_settings(const Config& layer);

/// A product whose weight is frozen, and beside it one of low rank that trains: y = x W + alpha / rank x A B
/// (Hu et al. 2021, "LoRA", equation 3, arXiv:2106.09685). A, (inputs, rank), is drawn and B, (rank,
/// outputs), begins at 0. Without an adapter it is the product alone.
class AdaptedLinear {
 public:
  AdaptedLinear() = default;
  explicit AdaptedLinear(Linear product) : product_(std::move(product)) {}
  /// Declares weight, bias where given, A and B: "out_proj.lora_A.weight" beside "out_proj.weight".
  AdaptedLinear(Plan& plan, const Linear::Extents& extents, Parameter weight, std::optional<Parameter> bias,
                const AdapterSettings& adapter);

  bool has_adapter() const { return scale_ != 0; }
  /// Without the adapter.
  const Linear& product() const { return product_; }
  /// Floating-point operations of the adapter for one sample.
  std::int64_t adapter_flops() const { return adapter_flops_; }
  /// y = x W + scale x A B, without the bias.
  void forward(const float* x, float* y, const Pass& pass) const;
  void add_bias(float* y, const Pass& pass) const { product_.add_bias(y, pass); }
  /// Null without a bias.
  const float* bias_values(const Pass& pass) const { return product_.bias_values(pass); }
  /// The gradients of all parameters, and dx unless it is null.
  void backward(const float* x, const float* dy, float* dx, Pass& pass) const;
  /// y = x W + b: graphs have the weight into which the adapter is merged (network_graph).
  Value trace(Value x, Tracer& tracer) const;

 private:
  Linear product_, down_, up_;  ///< W, A, B
  float scale_ = 0;             ///< 0: no adapter
  std::int64_t adapter_flops_ = 0, inner_of_row_ = 0;
  Buffer<> inner_, dinner_;  ///< scale x A, and its gradient
};

}  // namespace trainer
