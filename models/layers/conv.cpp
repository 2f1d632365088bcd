#include "models/layers/conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/activation_setting.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

ConvSettings::Extents padding_of(const Config& config, const ConvSettings& settings) {
  if (!config.is_word("pad", "same")) {
    const ConvSettings::Extents pad = extents_of(config, "pad");
    return {pad.h, settings.along_time ? 0 : pad.w};
  }
  if (settings.kernel.h % 2 == 0 || settings.kernel.w % 2 == 0)
    config.fail("pad", "`pad: same` requires an odd kernel", "an odd kernel, or `pad` as a number");
  return {settings.dilation.h * (settings.kernel.h - 1) / 2,
          settings.dilation.w * (settings.kernel.w - 1) / 2};
}

std::unique_ptr<Layer> make(const Config& config, bool along_time) {
  const auto extents = [&](std::string_view key) {
    const ConvSettings::Extents both = extents_of(config, key);
    return ConvSettings::Extents{both.h, along_time ? 1 : both.w};
  };
  ConvSettings settings{.filters = config.get<std::int64_t>("filters"),
                        .kernel = extents("kernel"),
                        .stride = extents("stride"),
                        .dilation = extents("dilation"),
                        .groups = config.get<std::int64_t>("groups"),
                        .bias = config.get<bool>("bias"),
                        .activation = activation_of(config),
                        .along_time = along_time};
  settings.pad = padding_of(config, settings);
  if (settings.filters % settings.groups != 0)
    config.fail("groups",
                fmt::format("{} groups do not divide {} filters", settings.groups, settings.filters));
  return std::make_unique<Conv>(settings, config);
}

/// `dimensions`: of a kernel, a stride and so on.
std::vector<Setting> conv_settings(int dimensions, const std::string& kernel_help, const std::string& what) {
  return {
      integer("filters", "number of filters: output channels").at_least(1).at_most(1e9),
      integers("kernel", kernel_help, dimensions).at_least(1).at_most(kMaxExtent),
      integers("stride", "step from one position to the next", dimensions)
          .at_least(1)
          .at_most(kMaxExtent)
          .fallback("1"),
      integers("pad",
               "zeros added on each side of the " + what + "; `same` keeps its size (stride 1, odd kernel)",
               dimensions)
          .at_least(0)
          .at_most(kMaxExtent)
          .or_word("same")
          .fallback("0"),
      integers("dilation", "distance between the positions that a filter reads", dimensions)
          .at_least(1)
          .at_most(kMaxExtent)
          .fallback("1"),
      integer("groups", "number of groups of channels, each with filters of its own")
          .at_least(1)
          .fallback("1"),
      boolean("bias", "add a bias to each filter").fallback("true"),
      activation_setting()};
}

const Registry<Layer>::Add conv_layer{{.name = "conv",
                                       .help = "convolution over a map, channels x height x width",
                                       .settings = conv_settings(2, "height and width of a filter", "map")},
                                      [](const Config& config) { return make(config, false); }};

const Registry<Layer>::Add along_time_layer{{.name = "conv1d",
                                             .help = "convolution along a sequence, time x features",
                                             .settings = conv_settings(1, "length of a filter", "sequence")},
                                            [](const Config& config) { return make(config, true); }};

}  // namespace

Shape Conv::setup(const Shape& input, Plan& plan) {
  const ConvSettings& set = settings_;
  if (set.along_time && input.rank() != 2)
    fail_to_fit(config_, plan, input, "it requires a sequence of time x features",
                "`reshape`, or `conv` for maps");
  if (!set.along_time) require_map(config_, plan, input);
  const Shape sample = set.along_time ? Shape{input[0], 1, input[1]} : input;
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
    fail_to_fit(config_, plan, input, fmt::format("{} groups do not divide the channels", set.groups));
  const Shape output{geometry.out_height(), geometry.out_width(), set.filters};
  if (output[0] < 1 || output[1] < 1)
    fail_to_fit(config_, plan, input, fmt::format("kernel {}x{}", set.kernel.h, set.kernel.w),
                "`pad: same`, or fewer layers before it that shrink the map");

  const std::int64_t window = Shape{set.kernel.h, set.kernel.w, sample[2] / set.groups}.size();
  weight_ = plan.parameter(
      {.name = "weight",
       .shape = set.along_time ? Shape{set.kernel.h, sample[2] / set.groups, set.filters}
                               : Shape{set.kernel.h, set.kernel.w, sample[2] / set.groups, set.filters},
       .layout = FileLayout::convolution,
       .fan_in = window,
       // As PyTorch counts it: of one group's inputs, of all filters.
       .fan_out = Shape{set.kernel.h, set.kernel.w, set.filters}.size(),
       .groups = set.groups});
  if (set.bias) bias_ = plan.parameter({.name = "bias", .shape = {set.filters}, .is_weight = false});
  convolution_ = make_convolution(geometry);
  scratch_ = plan.scratch(0, convolution_->scratch_size());
  if (derivative_from_input(set.activation)) sum_ = plan.activation(output.size());
  plan.backward_reads(true, set.activation != Activation::none && !derivative_from_input(set.activation));
  flops_ = Plan::flops({output.size(), window});
  output_ = set.along_time ? Shape{output[0], set.filters} : output;
  return output_;
}

void Conv::forward(ConstTensor x, Tensor y, Pass& pass) {
  const bool keeps_sum = derivative_from_input(settings_.activation);
  float* const sum = keeps_sum ? pass.buffer(sum_).data() : y.data();
  convolution_->forward(
      pass.rows(), x.data(), pass.value(weight_).data(), settings_.bias ? pass.value(bias_).data() : nullptr,
      keeps_sum ? Activation::none : settings_.activation, sum, pass.buffer(scratch_).data());
  if (keeps_sum) activate(settings_.activation, y.size(), sum, y.data());
}

void Conv::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  float* const scratch = pass.buffer(scratch_).data();
  if (settings_.activation != Activation::none && !relu_backward_left_)
    activate_backward(settings_.activation, dy.size(),
                      derivative_from_input(settings_.activation) ? pass.buffer(sum_).data() : y.data(),
                      dy.data(), dy.data());
  for (const VirtualWorker& worker : pass.virtual_workers()) {
    const Tensor dw = pass.gradient(weight_, worker);
    const Tensor dbias = settings_.bias ? pass.gradient(bias_, worker) : Tensor();
    if (worker.count > 0) {
      convolution_->backward_weights(worker.count, x.rows(worker.first, worker.count).data(),
                                     dy.rows(worker.first, worker.count).data(), dw.data(), dbias.data(),
                                     false, scratch);
    } else {
      std::ranges::fill(dw.span(), 0.0f);
      std::ranges::fill(dbias.span(), 0.0f);
    }
  }
  if (!dx.empty())
    convolution_->backward_data(pass.rows(), dy.data(), pass.value(weight_).data(), dx.data(), scratch);
}

Value Conv::trace(Value x, Tracer& tracer) const {
  const ConvSettings& set = settings_;
  Graph& graph = tracer.graph;
  std::vector<Value> inputs{channels_second(graph, x), tracer.parameter(weight_)};
  if (set.bias) inputs.push_back(tracer.parameter(bias_));
  using Integers = std::vector<std::int64_t>;
  const auto along = [&](const ConvSettings::Extents& both) {
    return set.along_time ? Integers{both.h} : Integers{both.h, both.w};
  };
  Integers pads = along(set.pad);
  pads.insert(pads.end(), pads.begin(), pads.begin() + (set.along_time ? 1 : 2));
  const Extents extents = set.along_time ? Extents{kBatch, set.filters, output_[0]} : batch_extents(output_);
  const Value y = graph.add("Conv", std::move(inputs), extents,
                            {{"kernel_shape", along(set.kernel)},
                             {"strides", along(set.stride)},
                             {"pads", std::move(pads)},
                             {"dilations", along(set.dilation)},
                             {"group", set.groups}});
  return activate(graph, set.activation, channels_last(graph, y));
}

ConvSettings::Extents extents_of(const Config& config, std::string_view key) {
  const auto extents = config.get<std::vector<std::int64_t>>(key);
  return {extents.front(), extents.back()};
}

}  // namespace trainer
