// avg_pool, l2_pool and global_avg_pool.
#include <cmath>

#include "engine/math/elementwise.h"
#include "models/layers/pooling.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

Value trace_average(Value x, const PoolingGeometry& geometry, bool include_padding, Tracer& tracer) {
  Attributes attributes = pooling_attributes(geometry);
  attributes["count_include_pad"] = static_cast<std::int64_t>(include_padding);
  return tracer.graph.add("AveragePool", {x}, batch_extents(pooled_shape(geometry)), std::move(attributes));
}

/// The mean of each window.
class AveragePool final : public Layer {
 public:
  explicit AveragePool(const Config& config)
      : config_(config), include_padding_(config.get<bool>("include_padding")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    geometry_ = pooling_geometry(config_, plan, sample);
    plan.backward_reads(false, false);
    return pooled_shape(geometry_);
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    average_pool(geometry_, pass.rows(), x.data(), include_padding_, y.data());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) average_pool_backward(geometry_, pass.rows(), dy.data(), include_padding_, dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    return trace_average(x, geometry_, include_padding_, tracer);
  }

 private:
  Config config_;
  bool include_padding_;
  PoolingGeometry geometry_;
};

/// The root of the sum of squares in each window.
class L2Pool final : public Layer {
 public:
  explicit L2Pool(const Config& config) : config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    geometry_ = pooling_geometry(config_, plan, sample);
    values_ = plan.scratch(sample.size());
    const Shape output = pooled_shape(geometry_);
    gradients_ = plan.scratch(output.size());
    return output;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    float* const squares = pass.buffer(values_).data();
    multiply(x.size(), x.data(), x.data(), squares);
    average_pool(geometry_, pass.rows(), squares, true, y.data());
    for (float& value : y.span()) value = std::sqrt(value * window());
  }
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    // dx = x times the sum of dy / y over the windows that hold it; the derivative of a window of zeros is 0.
    float* const gradients = pass.buffer(gradients_).data();
    for (std::int64_t i = 0; i < dy.size(); ++i) gradients[i] = y[i] == 0 ? 0 : dy[i] * window() / y[i];
    float* const sums = pass.buffer(values_).data();
    average_pool_backward(geometry_, pass.rows(), gradients, true, sums);
    multiply(x.size(), x.data(), sums, dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const Value means = trace_average(binary(graph, "Mul", x, x), geometry_, true, tracer);
    return unary(graph, "Sqrt", binary(graph, "Mul", means, window()));
  }

 private:
  float window() const { return static_cast<float>(geometry_.size_h * geometry_.size_w); }

  Config config_;
  PoolingGeometry geometry_;
  Buffer<> values_, gradients_;
};

/// The mean of each channel: a map becomes a vector.
class GlobalAveragePool final : public Layer {
 public:
  explicit GlobalAveragePool(const Config& config) : config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    geometry_ = {.height = sample[0],
                 .width = sample[1],
                 .channels = sample[2],
                 .size_h = sample[0],
                 .size_w = sample[1],
                 .stride_h = sample[0],
                 .stride_w = sample[1]};
    plan.backward_reads(false, false);
    return {sample[2]};
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    average_pool(geometry_, pass.rows(), x.data(), false, y.data());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) average_pool_backward(geometry_, pass.rows(), dy.data(), false, dx.data());
  }
  Value trace(Value x, Tracer& tracer) const override {
    const Extents one{kBatch, geometry_.channels, 1, 1};
    const Value means = tracer.graph.add("GlobalAveragePool", {x}, one);
    return reshape(tracer.graph, means, {kBatch, geometry_.channels});
  }

 private:
  Config config_;
  PoolingGeometry geometry_;
};

const Registry<Layer>::Add average_layer{
    {.name = "avg_pool",
     .help = "the mean of each window",
     .primary = "size",
     .settings =
         [] {
           std::vector<Setting> settings = pooling_settings();
           settings.push_back(boolean("include_padding",
                                      "count padded positions as zeros; else the mean is over the map alone")
                                  .fallback("true"));
           return settings;
         }()},
    [](const Config& config) { return std::make_unique<AveragePool>(config); }};

const Registry<Layer>::Add l2_layer{{.name = "l2_pool",
                                     .help = "the root of the sum of squares in each window",
                                     .primary = "size",
                                     .settings = pooling_settings()},
                                    [](const Config& config) { return std::make_unique<L2Pool>(config); }};

const Registry<Layer>::Add global_average_layer{
    {.name = "global_avg_pool", .help = "the mean of each channel: a map becomes a vector"},
    [](const Config& config) { return std::make_unique<GlobalAveragePool>(config); }};

}  // namespace
}  // namespace trainer
