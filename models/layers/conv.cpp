#include "models/layers/conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/math/convolution.h"
#include "engine/math/elementwise.h"
#include "models/layers/activation_setting.h"

namespace trainer {
namespace {

/// Far above any use, and low enough that no sum of a few overflows.
constexpr double kMostExtent = 1e6;

/// y = activation(x * w + b): each filter slides over the map.
class Conv final : public Layer {
 public:
  Conv(const ConvSettings& settings, const Config& config) : settings_(settings), config_(config) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    const ConvSettings& set = settings_;
    const ConvolutionGeometry geometry{.height = sample[0],
                                       .width = sample[1],
                                       .channels = sample[2],
                                       .filters = set.filters,
                                       .kernel_h = set.kernel.h,
                                       .kernel_w = set.kernel.w,
                                       .stride_h = set.stride.h,
                                       .stride_w = set.stride.w,
                                       .pad_h = set.pad.h,
                                       .pad_w = set.pad.w,
                                       .dilation_h = set.dilation.h,
                                       .dilation_w = set.dilation.w,
                                       .groups = set.groups};
    if (sample[2] % set.groups != 0)
      fail_to_fit(config_, plan, sample, fmt::format("{} groups do not divide the channels", set.groups));
    const Shape output{geometry.out_height(), geometry.out_width(), set.filters};
    if (output[0] < 1 || output[1] < 1)
      fail_to_fit(config_, plan, sample, fmt::format("kernel {}x{}", set.kernel.h, set.kernel.w),
                  "`pad: same`, or fewer layers before it that shrink the map");

    const std::int64_t window = Shape{set.kernel.h, set.kernel.w, sample[2] / set.groups}.size();
    weight_ = plan.parameter({.name = "weight",
                              .shape = {set.kernel.h, set.kernel.w, sample[2] / set.groups, set.filters},
                              .layout = FileLayout::convolution,
                              .fan_in = window,
                              // As PyTorch counts it: of one group's inputs, of all filters.
                              .fan_out = Shape{set.kernel.h, set.kernel.w, set.filters}.size()});
    if (set.bias) bias_ = plan.parameter({.name = "bias", .shape = {set.filters}, .is_weight = false});
    convolution_ = make_convolution(geometry);
    scratch_ = plan.scratch(0, convolution_->scratch_size());
    if (slope_from_input(set.activation)) sum_ = plan.saved(output.size());
    plan.backward_reads(true, set.activation != Activation::none && !slope_from_input(set.activation));
    flops_ = Plan::flops({output.size(), window});
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const bool keeps_sum = slope_from_input(settings_.activation);
    float* const sum = keeps_sum ? pass.buffer(sum_).data() : y.data();
    convolution_->forward(pass.rows(), x.data(), pass.value(weight_).data(),
                          settings_.bias ? pass.value(bias_).data() : nullptr,
                          keeps_sum ? Activation::none : settings_.activation, sum,
                          pass.buffer(scratch_).data());
    if (keeps_sum) activate(settings_.activation, y.size(), sum, y.data());
  }

  void backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) override {
    float* const scratch = pass.buffer(scratch_).data();
    if (settings_.activation != Activation::none)
      activate_backward(settings_.activation, dy.size(),
                        slope_from_input(settings_.activation) ? pass.buffer(sum_).data() : y.data(),
                        dy.data(), dy.data());
    for (const Block& block : pass.blocks()) {
      const Tensor dw = pass.gradient(weight_, block);
      const Tensor dbias = settings_.bias ? pass.gradient(bias_, block) : Tensor();
      if (block.count > 0) {
        convolution_->backward_weights(block.count, x.rows(block.first, block.count).data(),
                                       dy.rows(block.first, block.count).data(), dw.data(), dbias.data(),
                                       false, scratch);
      } else {
        std::ranges::fill(dw.span(), 0.0f);
        std::ranges::fill(dbias.span(), 0.0f);
      }
    }
    if (!dx.empty())
      convolution_->backward_data(pass.rows(), dy.data(), pass.value(weight_).data(), dx.data(), scratch);
  }

  std::int64_t flops() const override { return flops_; }

 private:
  ConvSettings settings_;
  Config config_;
  std::unique_ptr<Convolution> convolution_;
  ParameterId weight_, bias_;
  BufferId scratch_, sum_;
  std::int64_t flops_ = 0;
};

ConvSettings::Extents padding_of(const Config& config, const ConvSettings& settings) {
  if (!config.is_word("pad", "same")) return extents_of(config, "pad");
  if (settings.kernel.h % 2 == 0 || settings.kernel.w % 2 == 0)
    config.fail("pad", "`pad: same` wants an odd kernel", "an odd kernel, or `pad` as a number");
  return {settings.dilation.h * (settings.kernel.h - 1) / 2,
          settings.dilation.w * (settings.kernel.w - 1) / 2};
}

std::unique_ptr<Layer> make(const Config& config) {
  ConvSettings settings{.filters = config.get<std::int64_t>("filters"),
                        .kernel = extents_of(config, "kernel"),
                        .stride = extents_of(config, "stride"),
                        .dilation = extents_of(config, "dilation"),
                        .groups = config.get<std::int64_t>("groups"),
                        .bias = config.get<bool>("bias"),
                        .activation = activation_of(config)};
  settings.pad = padding_of(config, settings);
  if (settings.filters % settings.groups != 0)
    config.fail("groups",
                fmt::format("{} groups do not divide {} filters", settings.groups, settings.filters));
  return make_conv(settings, config);
}

const Registry<Layer>::Add registered{
    {.name = "conv",
     .help = "every filter is moved over a map, channels x height x width",
     .settings =
         {integer("filters", "number of filters, which is that of output channels").at_least(1).at_most(1e9),
          integers("kernel", "height and width of a filter", 2).at_least(1).at_most(kMostExtent),
          integers("stride", "step from one position to the next", 2)
              .at_least(1)
              .at_most(kMostExtent)
              .fallback("1"),
          integers("pad", "zeros added on each side of the map; `same` keeps its size (stride 1, odd kernel)",
                   2)
              .at_least(0)
              .at_most(kMostExtent)
              .or_word("same")
              .fallback("0"),
          integers("dilation", "distance between the positions that a filter reads", 2)
              .at_least(1)
              .at_most(kMostExtent)
              .fallback("1"),
          integer("groups", "the channels are cut into so many groups, each with filters of its own")
              .at_least(1)
              .fallback("1"),
          boolean("bias", "add a bias to each filter").fallback("true"), activation_setting()}},
    make};

}  // namespace

std::unique_ptr<Layer> make_conv(const ConvSettings& settings, const Config& blamed) {
  return std::make_unique<Conv>(settings, blamed);
}

ConvSettings::Extents extents_of(const Config& config, std::string_view key) {
  const auto numbers = config.get<std::vector<std::int64_t>>(key);
  return {numbers.front(), numbers.back()};
}

}  // namespace trainer
