#include <algorithm>
#include <cmath>

#include "engine/math/normalization.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = w (x - mean) / sqrt(variance + epsilon) + b for each channel of maps or each feature, with mean and
/// variance over the global batch; evaluation uses running statistics (Ioffe and Szegedy 2015). The shape
/// stays.
class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(const Config& config)
      : config_(config), momentum_(config.get<float>("momentum")), epsilon_(config.get<double>("epsilon")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    channels_ = sample[sample.rank() - 1];
    positions_ = sample.with_last(1).size();
    if (positions_ == 1) plan.requires_rows(2, config_, "normalizes each channel over the batch");
    const Shape shape{channels_};
    weight_ = plan.parameter({.name = "weight", .shape = shape, .is_weight = false, .constant = 1});
    bias_ = plan.parameter({.name = "bias", .shape = shape, .is_weight = false});
    running_mean_ = plan.state({.name = "running_mean", .shape = shape});
    running_var_ = plan.state({.name = "running_var", .shape = shape, .constant = 1});
    mean_ = plan.saved_once(0, channels_);
    inverse_deviation_ = plan.saved_once(0, channels_);
    sums_ = plan.scratch<double>(0, 2 * channels_);
    lines_ = plan.scratch<double>(0, Shape{2, channels_, plan.max_virtual_workers()}.size());
    factors_ = plan.scratch(0, 3 * channels_);
    plan.backward_reads(true, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const std::span<float> mean = pass.buffer(mean_).span();
    const std::span<float> inverse_deviation = pass.buffer(inverse_deviation_).span();
    if (pass.training()) {
      if (!pass.recomputes()) measure(x, mean, inverse_deviation, pass);
    } else {
      std::ranges::copy(pass.state(running_mean_), mean.begin());
      std::ranges::transform(pass.state(running_var_), inverse_deviation.begin(),
                             [this](float variance) { return inverse_root(variance); });
    }
    float* const scale = pass.buffer(factors_).data();
    float* const shift = scale + channels_;
    for (std::int64_t c = 0; c < channels_; ++c) {
      const auto i = static_cast<std::size_t>(c);
      scale[i] = pass.value(weight_)[c] * inverse_deviation[i];
      shift[i] = pass.value(bias_)[c] - mean[i] * scale[i];
    }
    channel_affine(pass.rows() * positions_, channels_, x.data(), scale, shift, y.data());
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    const auto channels = static_cast<std::size_t>(channels_);
    const float* const mean = pass.buffer(mean_).data();
    const float* const inverse_deviation = pass.buffer(inverse_deviation_).data();
    const std::span<double> sums = pass.buffer(sums_), lines = lines_of(pass);
    for_each_line(lines, pass, [&](const VirtualWorker& worker, double* line) {
      const std::int64_t first = worker.first * positions_ * channels_;
      batch_norm_backward_sums(worker.count * positions_, channels_, x.data() + first, dy.data() + first,
                               mean, line, line + channels);
      float* const of_bias = pass.gradient(bias_, worker).data();
      float* const of_weight = pass.gradient(weight_, worker).data();
      for (std::size_t c = 0; c < channels; ++c) {
        of_bias[c] = static_cast<float>(line[c]);
        of_weight[c] = static_cast<float>(line[channels + c] * inverse_deviation[c]);
      }
    });
    if (dx.empty()) return;
    pass.all_reduce(lines, sums);
    // dx = weight / deviation * (dy - mean of dy - x_hat * mean of dy x_hat): a factor of dy, one of x -
    // mean, and a constant.
    const double count = static_cast<double>(pass.batch_rows() * positions_);
    float* const of_dy = pass.buffer(factors_).data();
    float* const of_x = of_dy + channels;
    float* const constant = of_x + channels;
    for (std::size_t c = 0; c < channels; ++c) {
      const double inverse = inverse_deviation[c], factor = pass.value(weight_).data()[c] * inverse;
      of_dy[c] = static_cast<float>(factor);
      of_x[c] = static_cast<float>(-factor * inverse * inverse * sums[channels + c] / count);
      constant[c] = static_cast<float>(-factor * sums[c] / count);
    }
    batch_norm_backward(pass.rows() * positions_, channels_, x.data(), dy.data(), mean, of_dy, of_x, constant,
                        dx.data());
  }
  bool is_stepwise() const override { return true; }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const Value turned = channels_second(graph, x);
    const Value y = graph.add("BatchNormalization",
                              {turned, tracer.parameter(weight_), tracer.parameter(bias_),
                               tracer.state(running_mean_), tracer.state(running_var_)},
                              graph.extents(turned), {{"epsilon", static_cast<float>(epsilon_)}});
    return channels_last(graph, y);
  }

 private:
  /// For each virtual worker a line of two values for every channel.
  std::span<double> lines_of(const Pass& pass) const {
    return pass.buffer(lines_).first(pass.virtual_workers().size() * static_cast<std::size_t>(2 * channels_));
  }
  /// work(virtual worker, its line) for all of them.
  template <class Work>
  void for_each_line(std::span<double> lines, const Pass& pass, Work work) const {
    double* line = lines.data();
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      work(worker, line);
      line += 2 * channels_;
    }
  }

  float inverse_root(double variance) const { return static_cast<float>(1 / std::sqrt(variance + epsilon_)); }

  /// Statistics of the global batch; moves the running ones.
  void measure(ConstTensor x, std::span<float> mean, std::span<float> inverse_deviation, Pass& pass) const {
    const auto channels = static_cast<std::size_t>(channels_);
    const double count = static_cast<double>(pass.batch_rows() * positions_);
    const std::span<double> sums = pass.buffer(sums_), lines = lines_of(pass);
    for_each_line(lines, pass, [&](const VirtualWorker& worker, double* line) {
      channel_moments(worker.count * positions_, channels_, x.rows(worker.first, worker.count).data(), line,
                      line + channels);
    });
    pass.all_reduce(lines, sums);
    const std::span<double> variances = sums.last(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      variances[c] = variance_of(sums[c], variances[c], count);
      mean[c] = static_cast<float>(sums[c] / count);
      inverse_deviation[c] = inverse_root(variances[c]);
    }
    if (pass.worker() != 0) return;
    const std::span<float> running_mean = pass.state(running_mean_), running_var = pass.state(running_var_);
    for (std::size_t c = 0; c < channels; ++c) {
      const auto unbiased = static_cast<float>(variances[c] * count / std::max(count - 1, 1.0));
      running_mean[c] += momentum_ * (mean[c] - running_mean[c]);
      running_var[c] += momentum_ * (unbiased - running_var[c]);
    }
  }

  Config config_;
  float momentum_;
  double epsilon_;
  std::int64_t channels_ = 0, positions_ = 0;
  ParameterId weight_, bias_;
  StateId running_mean_, running_var_;
  Buffer<> mean_, inverse_deviation_, factors_;
  Buffer<double> sums_, lines_;
};

const Registry<Layer>::Add batch_norm_layer{
    {.name = "batch_norm",
     .help = "batch normalization: each channel to mean 0 and variance 1 over the global batch, then scale "
             "and shift",
     .settings =
         {real("momentum", "weight of a batch in the running statistics").above(0).at_most(1).fallback("0.1"),
          real("epsilon", "added to the variance").above(0).fallback("1e-5")}},
    [](const Config& config) { return std::make_unique<BatchNorm>(config); }};

}  // namespace
}  // namespace trainer
