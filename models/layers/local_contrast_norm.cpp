#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/elementary.h"
#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// v = x - local mean, y = v / max(local deviation, mean of it over the map) (Jarrett, Kavukcuoglu, Ranzato
/// and LeCun 2009). The window is a Gaussian over positions, equal for all channels; zeros surround the map.
/// The shape (H, W, C) stays.
class LocalContrastNorm final : public Layer {
 public:
  explicit LocalContrastNorm(const Config& config)
      : config_(config), epsilon_(config.get<double>("epsilon")) {
    const auto size = config.get<std::int64_t>("size");
    if (size % 2 == 0) config.fail("size", "the size of the window is odd");
    const double width = static_cast<double>(size) / 4;
    double sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t from_centre = i - size / 2;
      const double distance = static_cast<double>(from_centre) / width;
      window_.push_back(elementary::exp(-distance * distance / 2));
      sum += window_.back();
    }
    for (double& weight : window_) weight /= sum;
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    height_ = sample[0];
    width_ = sample[1];
    channels_ = sample[2];
    positions_ = height_ * width_;
    left_ = plan.saved(sample.size());
    deviation_ = plan.saved<double>(positions_);
    maps_ = plan.scratch<double>(0, Shape{3, positions_}.size());
    plan.backward_reads(false, false);
    plan.works_in_place();
    return sample;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    double* const map = pass.buffer(maps_).data();
    double* const blurred = map + positions_;
    double* const between = blurred + positions_;
    for (std::int64_t row = 0; row < pass.rows(); ++row) {
      const float* const from = x.data() + row * positions_ * channels_;
      float* const left = pass.buffer(left_).data() + row * positions_ * channels_;
      double* const deviation = deviations(pass, row);
      for_each_position([&](std::int64_t p, std::int64_t first) {
        map[p] = mean_over_channels([&](std::int64_t c) { return static_cast<double>(from[first + c]); });
      });
      blur(map, blurred, between);
      for_each_position([&](std::int64_t p, std::int64_t first) {
        for (std::int64_t c = 0; c < channels_; ++c)
          left[first + c] = from[first + c] - static_cast<float>(blurred[p]);
        map[p] = mean_over_channels([&](std::int64_t c) {
          return static_cast<double>(left[first + c]) * static_cast<double>(left[first + c]);
        });
      });
      blur(map, deviation, between);
      for (std::int64_t p = 0; p < positions_; ++p) deviation[p] = std::sqrt(deviation[p]);
      const double least = least_divisor(deviation);
      for_each_position([&](std::int64_t p, std::int64_t first) {
        const auto factor = static_cast<float>(1 / larger(deviation[p], least));
        for (std::int64_t c = 0; c < channels_; ++c)
          y.data()[row * positions_ * channels_ + first + c] = left[first + c] * factor;
      });
    }
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    double* const map = pass.buffer(maps_).data();
    double* const blurred = map + positions_;
    double* const between = blurred + positions_;
    for (std::int64_t row = 0; row < pass.rows(); ++row) {
      const std::int64_t sample = row * positions_ * channels_;
      const float* const left = pass.buffer(left_).data() + sample;
      const float* const upstream = dy.data() + sample;
      float* const to = dx.data() + sample;
      const double* const deviation = deviations(pass, row);
      const double least = least_divisor(deviation);
      // The gradient of each divisor goes to the position's own deviation or to the mean of all.
      double of_mean = 0;
      for_each_position([&](std::int64_t p, std::int64_t first) {
        double dot = 0;
        for (std::int64_t c = 0; c < channels_; ++c)
          dot += static_cast<double>(upstream[first + c]) * static_cast<double>(left[first + c]);
        const double divisor = larger(deviation[p], least), gradient = -dot / (divisor * divisor);
        const bool own = deviation[p] > least;
        map[p] = own ? gradient : 0;
        if (!own && least > epsilon_) of_mean += gradient;
      });
      for (std::int64_t p = 0; p < positions_; ++p) {
        const double gradient = map[p] + of_mean / static_cast<double>(positions_);
        // By the root, then by the mean of squares.
        map[p] = deviation[p] > 0 ? gradient / deviation[p] / static_cast<double>(channels_) : 0;
      }
      blur(map, blurred, between);
      for_each_position([&](std::int64_t p, std::int64_t first) {
        const double factor = 1 / larger(deviation[p], least);
        for (std::int64_t c = 0; c < channels_; ++c)
          to[first + c] = static_cast<float>(static_cast<double>(upstream[first + c]) * factor +
                                             blurred[p] * static_cast<double>(left[first + c]));
        map[p] = mean_over_channels([&](std::int64_t c) { return static_cast<double>(to[first + c]); });
      });
      blur(map, blurred, between);
      for_each_position([&](std::int64_t p, std::int64_t first) {
        for (std::int64_t c = 0; c < channels_; ++c) to[first + c] -= static_cast<float>(blurred[p]);
      });
    }
  }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const auto blurred = [&](Value map) { return trace_blur(graph, mean(graph, map, {1})); };
    const Value left = binary(graph, "Sub", x, blurred(x));
    const Value deviation = unary(graph, "Sqrt", blurred(binary(graph, "Mul", left, left)));
    const Value least = binary(graph, "Max", mean(graph, deviation, {2, 3}), static_cast<float>(epsilon_));
    return binary(graph, "Div", left, binary(graph, "Max", deviation, least));
  }

 private:
  /// A convolution of a map (N, 1, H, W) with the window along each extent.
  Value trace_blur(Graph& graph, Value map) const {
    const std::int64_t size = std::ssize(window_), half = size / 2;
    using Integers = std::vector<std::int64_t>;
    const std::vector<float> window(window_.begin(), window_.end());
    const auto along = [&](Value of, const char* name, const Integers& kernel, const Integers& pads) {
      const Value weight = graph.constant(name, {1, 1, kernel[0], kernel[1]}, window);
      return graph.add("Conv", {of, weight}, graph.extents(of), {{"kernel_shape", kernel}, {"pads", pads}});
    };
    return along(along(map, "column", {size, 1}, {half, 0, half, 0}), "row", {1, size}, {0, half, 0, half});
  }

  /// A NaN is larger than everything, as it must not be lost.
  static double larger(double deviation, double least) { return deviation <= least ? least : deviation; }

  double least_divisor(const double* deviation) const {
    double sum = 0;
    for (std::int64_t p = 0; p < positions_; ++p) sum += deviation[p];
    return larger(sum / static_cast<double>(positions_), epsilon_);
  }

  double* deviations(const Pass& pass, std::int64_t row) const {
    return pass.buffer(deviation_).data() + row * positions_;
  }

  template <class Visit>
  void for_each_position(Visit visit) const {
    for (std::int64_t p = 0; p < positions_; ++p) visit(p, p * channels_);
  }

  template <class Value>
  double mean_over_channels(Value value) const {
    double sum = 0;
    for (std::int64_t c = 0; c < channels_; ++c) sum += value(c);
    return sum / static_cast<double>(channels_);
  }

  /// The window's weighted sums of a map, along one extent after the other; its own adjoint.
  void blur(const double* map, double* blurred, double* between) const {
    blur_along(map, between, height_, width_, width_, 1);
    blur_along(between, blurred, width_, 1, height_, width_);
  }
  /// Along `count` elements `step` apart, for each of `lines` lines `line` apart.
  void blur_along(const double* from, double* to, std::int64_t count, std::int64_t step, std::int64_t lines,
                  std::int64_t line) const {
    const std::int64_t half = std::ssize(window_) / 2;
    for (std::int64_t l = 0; l < lines; ++l, from += line, to += line)
      for (std::int64_t i = 0; i < count; ++i) {
        double sum = 0;
        for (std::int64_t k = std::max(i - half, std::int64_t{0}); k <= std::min(i + half, count - 1); ++k)
          sum += window_[static_cast<std::size_t>(k - i + half)] * from[k * step];
        to[i * step] = sum;
      }
  }

  Config config_;
  double epsilon_;
  std::vector<double> window_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0, positions_ = 0;
  Buffer<> left_;
  Buffer<double> deviation_, maps_;
};

const Registry<Layer>::Add local_contrast_norm_layer{
    {.name = "local_contrast_norm",
     .help =
         "local contrast normalization: subtracts the mean of a window, divides by its standard deviation",
     .primary = "size",
     .settings = {integer("size", "height and width of the window, odd").at_least(1).at_most(1e4),
                  real("epsilon", "smallest divisor").above(0).fallback("1e-4")}},
    [](const Config& config) { return std::make_unique<LocalContrastNorm>(config); }};

}  // namespace
}  // namespace trainer
