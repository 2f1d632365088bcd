// max_pool, avg_pool, l2_pool and global_avg_pool.
#include "engine/math/pooling.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/math/elementwise.h"
#include "models/layers/conv.h"
#include "models/layers/layer.h"

namespace trainer {
namespace {

constexpr double kMostExtent = 1e6;

std::vector<Setting> pooling_settings() {
  return {
      integers("size", "height and width of the window", 2).at_least(1).at_most(kMostExtent),
      integers("stride", "step from one window to the next; when not given, the size", 2)
          .at_least(1)
          .at_most(kMostExtent)
          .optional(),
      integers("pad", "positions added on each side of the map, at most half the window", 2)
          .at_least(0)
          .at_most(kMostExtent)
          .fallback("0"),
  };
}

PoolingGeometry geometry_of(const Config& config, const Plan& plan, const Shape& sample) {
  require_map(config, plan, sample);
  const auto size = extents_of(config, "size"), pad = extents_of(config, "pad");
  const auto stride = config.has("stride") ? extents_of(config, "stride") : size;
  if (2 * pad.h > size.h || 2 * pad.w > size.w)
    config.fail("pad", fmt::format("the padding is more than half the window, {}x{}", size.h, size.w));
  const PoolingGeometry geometry{.height = sample[0],
                                 .width = sample[1],
                                 .channels = sample[2],
                                 .size_h = size.h,
                                 .size_w = size.w,
                                 .stride_h = stride.h,
                                 .stride_w = stride.w,
                                 .pad_h = pad.h,
                                 .pad_w = pad.w};
  if (geometry.out_height() < 1 || geometry.out_width() < 1)
    fail_to_fit(config, plan, sample, fmt::format("window {}x{}", size.h, size.w),
                "a smaller window, or fewer layers before it that shrink the map");
  return geometry;
}

Shape output_of(const PoolingGeometry& geometry) {
  return {geometry.out_height(), geometry.out_width(), geometry.channels};
}

/// The largest number of each window.
class MaxPool final : public Layer {
 public:
  explicit MaxPool(const Config& config) : config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    geometry_ = geometry_of(config_, plan, sample);
    if (positions() > kMostPositions)
      config_.fail("size", fmt::format("a window has at most {} positions", kMostPositions));
    const Shape output = output_of(geometry_);
    winners_ = plan.saved((output.size() + 3) / 4);
    plan.backward_reads(false, false);
    return output;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    max_pool(geometry_, pass.rows(), x.data(), y.data(), pass.training() ? winners(pass) : nullptr,
             after_relu_);
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) max_pool_backward(geometry_, pass.rows(), dy.data(), winners(pass), dx.data());
  }
  /// Relu's slope is cheaper here: of each window only the winner is looked at.
  void follow(Layer& before) override {
    after_relu_ = positions() < kMostPositions && before.leave_relu_slope();
  }

 private:
  static constexpr std::int64_t kMostPositions = 256;  ///< a winner is kept as one byte

  std::int64_t positions() const { return geometry_.size_h * geometry_.size_w; }
  std::uint8_t* winners(const Pass& pass) const {
    return reinterpret_cast<std::uint8_t*>(pass.buffer(winners_).data());
  }

  Config config_;
  PoolingGeometry geometry_;
  bool after_relu_ = false;
  BufferId winners_;
};

/// The mean of each window.
class AveragePool final : public Layer {
 public:
  explicit AveragePool(const Config& config)
      : config_(config), include_padding_(config.get<bool>("include_padding")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    geometry_ = geometry_of(config_, plan, sample);
    plan.backward_reads(false, false);
    return output_of(geometry_);
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    average_pool(geometry_, pass.rows(), x.data(), include_padding_, y.data());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (!dx.empty()) average_pool_backward(geometry_, pass.rows(), dy.data(), include_padding_, dx.data());
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
    geometry_ = geometry_of(config_, plan, sample);
    numbers_ = plan.scratch(sample.size());
    const Shape output = output_of(geometry_);
    slopes_ = plan.scratch(output.size());
    return output;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    float* const squares = pass.buffer(numbers_).data();
    multiply(x.size(), x.data(), x.data(), squares);
    average_pool(geometry_, pass.rows(), squares, true, y.data());
    for (float& number : y.span()) number = std::sqrt(number * window());
  }
  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    // dx = x times the sum of dy / y over the windows that hold it; a window of zeros has no slope.
    float* const slopes = pass.buffer(slopes_).data();
    for (std::int64_t i = 0; i < dy.size(); ++i) slopes[i] = y[i] == 0 ? 0 : dy[i] * window() / y[i];
    float* const sums = pass.buffer(numbers_).data();
    average_pool_backward(geometry_, pass.rows(), slopes, true, sums);
    multiply(x.size(), x.data(), sums, dx.data());
  }

 private:
  float window() const { return static_cast<float>(geometry_.size_h * geometry_.size_w); }

  Config config_;
  PoolingGeometry geometry_;
  BufferId numbers_, slopes_;
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

 private:
  Config config_;
  PoolingGeometry geometry_;
};

const Registry<Layer>::Add max{{.name = "max_pool",
                                .help = "the largest value of each window",
                                .primary = "size",
                                .settings = pooling_settings()},
                               [](const Config& config) { return std::make_unique<MaxPool>(config); }};

const Registry<Layer>::Add average{
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

const Registry<Layer>::Add l2{{.name = "l2_pool",
                               .help = "the root of the sum of squares in each window",
                               .primary = "size",
                               .settings = pooling_settings()},
                              [](const Config& config) { return std::make_unique<L2Pool>(config); }};

const Registry<Layer>::Add global_average{
    {.name = "global_avg_pool", .help = "the mean of each channel: a map becomes a vector"},
    [](const Config& config) { return std::make_unique<GlobalAveragePool>(config); }};

}  // namespace
}  // namespace trainer
