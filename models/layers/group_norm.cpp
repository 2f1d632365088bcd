#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/math/normalization.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// y = w (x - mean) / sqrt(variance + epsilon) + b with mean and variance of a group of channels of one
/// sample (Wu and He 2018). One group is the whole map; as many groups as channels make instance
/// normalization. The shape stays.
class GroupNorm final : public Layer {
 public:
  explicit GroupNorm(const Config& config)
      : config_(config),
        groups_(config.get<std::int64_t>("groups")),
        epsilon_(config.get<double>("epsilon")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    channels_ = sample[sample.rank() - 1];
    positions_ = sample.with_last(1).size();
    if (channels_ % groups_ != 0)
      fail_to_fit(config_, plan, sample, fmt::format("{} groups do not divide the channels", groups_));
    const Shape shape{channels_};
    weight_ = plan.parameter({.name = "weight", .shape = shape, .is_weight = false, .constant = 1});
    bias_ = plan.parameter({.name = "bias", .shape = shape, .is_weight = false});
    mean_ = plan.saved(channels_);
    inverse_deviation_ = plan.saved(channels_);
    sums_ = plan.scratch<double>(0, Shape{4, channels_}.size());
    factors_ = plan.scratch(0, 3 * channels_);
    plan.backward_reads(true, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    double* const sums = pass.buffer(sums_).data();
    double* const squares = sums + channels_;
    float* const scale = pass.buffer(factors_).data();
    float* const shift = scale + channels_;
    const std::int64_t width = channels_ / groups_;
    const auto count = static_cast<double>(width * positions_);
    for (std::int64_t row = 0; row < pass.rows(); ++row) {
      const float* const from = x.data() + row * positions_ * channels_;
      float* const mean = pass.buffer(mean_).data() + row * channels_;
      float* const inverse = pass.buffer(inverse_deviation_).data() + row * channels_;
      channel_moments(positions_, channels_, from, sums, squares);
      for (std::int64_t first = 0; first < channels_; first += width) {
        const double sum = std::accumulate(sums + first, sums + first + width, 0.0);
        const double square_sum = std::accumulate(squares + first, squares + first + width, 0.0);
        const double variance = variance_of(sum, square_sum, count);
        std::fill_n(mean + first, width, static_cast<float>(sum / count));
        std::fill_n(inverse + first, width, static_cast<float>(1 / std::sqrt(variance + epsilon_)));
      }
      for (std::int64_t c = 0; c < channels_; ++c) {
        scale[c] = pass.value(weight_)[c] * inverse[c];
        shift[c] = pass.value(bias_)[c] - mean[c] * scale[c];
      }
      channel_affine(positions_, channels_, from, scale, shift, y.data() + row * positions_ * channels_);
    }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      double* const dweight = pass.buffer(sums_).data() + 2 * channels_;
      std::fill_n(dweight, 2 * channels_, 0.0);
      for (std::int64_t row = worker.first; row < worker.first + worker.count; ++row)
        backward_of_sample(row, x, dy, dx, dweight, pass);
      for (std::int64_t c = 0; c < channels_; ++c) {
        pass.gradient(weight_, worker)[c] = static_cast<float>(dweight[c]);
        pass.gradient(bias_, worker)[c] = static_cast<float>(dweight[channels_ + c]);
      }
    }
  }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const Value turned = channels_second(graph, x);
    const std::int64_t width = channels_ / groups_;
    // Each group is a channel of an instance norm without scale and shift.
    const std::vector<float> ones(static_cast<std::size_t>(groups_), 1), zeros(ones.size(), 0);
    const Value grouped = reshape(graph, turned, {kBatch, groups_, width * positions_});
    const Value normal = graph.add(
        "InstanceNormalization",
        {grouped, graph.constant("ones", {groups_}, ones), graph.constant("zeros", {groups_}, zeros)},
        graph.extents(grouped), {{"epsilon", static_cast<float>(epsilon_)}});
    Extents factors{channels_};
    factors.resize(graph.extents(turned).size() - 1, 1);
    const Value scaled = binary(graph, "Mul", reshape(graph, normal, graph.extents(turned)),
                                tracer.parameter(weight_, factors));
    return channels_last(graph, binary(graph, "Add", scaled, tracer.parameter(bias_, factors)));
  }

 private:
  /// visit(first channel, mean over the elements of the group) from sums by channel.
  template <class Visit>
  void for_each_group(const double* sums, Visit visit) const {
    const std::int64_t width = channels_ / groups_;
    for (std::int64_t first = 0; first < channels_; first += width) {
      double sum = 0;
      for (std::int64_t c = first; c < first + width; ++c) sum += sums[c];
      visit(first, sum / static_cast<double>(width * positions_));
    }
  }

  /// Adds the sample's gradients of weight and, behind them, bias to `dweight`.
  void backward_of_sample(std::int64_t row, ConstTensor x, Tensor dy, Tensor dx, double* dweight,
                          const Pass& pass) const {
    const std::int64_t first = row * positions_ * channels_, width = channels_ / groups_;
    const float* const mean = pass.buffer(mean_).data() + row * channels_;
    const float* const inverse = pass.buffer(inverse_deviation_).data() + row * channels_;
    double* const dy_sums = pass.buffer(sums_).data();
    double* const dots = dy_sums + channels_;
    batch_norm_backward_sums(positions_, channels_, x.data() + first, dy.data() + first, mean, dy_sums, dots);
    const ConstTensor weight = pass.value(weight_);
    for (std::int64_t c = 0; c < channels_; ++c) {
      dweight[c] += dots[c] * static_cast<double>(inverse[c]);
      dweight[channels_ + c] += dy_sums[c];
      dy_sums[c] *= static_cast<double>(weight[c]);
      dots[c] *= static_cast<double>(weight[c]);
    }
    if (dx.empty()) return;
    // dx = (w dy - mean of w dy - x_hat * mean of w dy x_hat) / deviation, as factors of dy, x - mean and 1.
    float* const of_dy = pass.buffer(factors_).data();
    float* const of_x = of_dy + channels_;
    float* const constant = of_x + channels_;
    for (std::int64_t c = 0; c < channels_; ++c) of_dy[c] = weight[c] * inverse[c];
    for_each_group(dy_sums, [&](std::int64_t c, double average) {
      std::fill_n(constant + c, width, static_cast<float>(-average * static_cast<double>(inverse[c])));
    });
    for_each_group(dots, [&](std::int64_t c, double average) {
      const double factor = inverse[c];
      std::fill_n(of_x + c, width, static_cast<float>(-average * factor * factor * factor));
    });
    batch_norm_backward(positions_, channels_, x.data() + first, dy.data() + first, mean, of_dy, of_x,
                        constant, dx.data() + first);
  }

  Config config_;
  std::int64_t groups_;
  double epsilon_;
  std::int64_t channels_ = 0, positions_ = 0;
  ParameterId weight_, bias_;
  Buffer<> mean_, inverse_deviation_, factors_;
  Buffer<double> sums_;
};

const Registry<Layer>::Add group_norm_layer{
    {.name = "group_norm",
     .help =
         "group normalization: groups of a sample's channels to mean 0 and variance 1, then scale and shift",
     .primary = "groups",
     .settings = {integer("groups", "number of groups; 1 normalizes the whole map").at_least(1),
                  real("epsilon", "added to the variance").above(0).fallback("1e-5")}},
    [](const Config& config) { return std::make_unique<GroupNorm>(config); }};

}  // namespace
}  // namespace trainer
