#include <fmt/format.h>

#include <algorithm>

#include "engine/math/convolution.h"
#include "engine/math/elementwise.h"
#include "models/layers/conv.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Transposed convolution, (H, W, C) -> (H', W', filters) with H' = (H - 1) stride - 2 pad + dilation (kernel
/// - 1) + extra + 1 (Zeiler et al. 2010). Forward is backward_data of the convolution from y to x.
class ConvTranspose final : public Layer {
 public:
  explicit ConvTranspose(const Config& config)
      : config_(config),
        filters_(config.get<std::int64_t>("filters")),
        groups_(config.get<std::int64_t>("groups")),
        kernel_(extents_of(config, "kernel")),
        stride_(extents_of(config, "stride")),
        pad_(extents_of(config, "pad")),
        extra_(extents_of(config, "extra")),
        dilation_(extents_of(config, "dilation")),
        has_bias_(config.get<bool>("bias")) {
    if (filters_ % groups_ != 0)
      config.fail("groups", fmt::format("{} groups do not divide {} filters", groups_, filters_));
    if (extra_.h >= stride_.h || extra_.w >= stride_.w) config.fail("extra", "extra is less than the stride");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    if (sample[2] % groups_ != 0)
      fail_to_fit(config_, plan, sample, fmt::format("{} groups do not divide the channels", groups_));
    const std::int64_t height =
        (sample[0] - 1) * stride_.h - 2 * pad_.h + dilation_.h * (kernel_.h - 1) + extra_.h + 1;
    const std::int64_t width =
        (sample[1] - 1) * stride_.w - 2 * pad_.w + dilation_.w * (kernel_.w - 1) + extra_.w + 1;
    if (height < 1 || width < 1)
      fail_to_fit(config_, plan, sample,
                  fmt::format("the padding takes away all of the {}x{} kernel", kernel_.h, kernel_.w));
    const Shape output{height, width, filters_};
    const ConvolutionGeometry geometry{.height = output[0],
                                       .width = output[1],
                                       .channels = filters_,
                                       .filters = sample[2],
                                       .kernel_h = kernel_.h,
                                       .kernel_w = kernel_.w,
                                       .stride_h = stride_.h,
                                       .stride_w = stride_.w,
                                       .pad_h = pad_.h,
                                       .pad_w = pad_.w,
                                       .dilation_h = dilation_.h,
                                       .dilation_w = dilation_.w,
                                       .groups = groups_};
    weight_ = plan.parameter({.name = "weight",
                              .shape = {kernel_.h, kernel_.w, filters_ / groups_, sample[2]},
                              .layout = FileLayout::convolution,
                              // As PyTorch counts them, by the extents of the file.
                              .fan_in = Shape{kernel_.h, kernel_.w, filters_ / groups_}.size(),
                              .fan_out = Shape{kernel_.h, kernel_.w, sample[2]}.size(),
                              .groups = groups_});
    if (has_bias_) bias_ = plan.parameter({.name = "bias", .shape = {filters_}, .is_weight = false});
    convolution_ = make_convolution(geometry);
    scratch_ = plan.scratch(0, convolution_->scratch_size());
    plan.backward_reads(true, false);
    output_ = output;
    positions_ = output[0] * output[1];
    flops_ = Plan::flops({sample.size(), kernel_.h, kernel_.w, filters_ / groups_});
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    convolution_->backward_data(pass.rows(), x.data(), pass.value(weight_).data(), y.data(),
                                pass.buffer(scratch_).data());
    if (has_bias_)
      bias_activate(Activation::none, pass.rows() * positions_, filters_, y.data(), pass.value(bias_).data(),
                    y.data());
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    float* const scratch = pass.buffer(scratch_).data();
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      const Tensor dw = pass.gradient(weight_, worker);
      const Tensor worker_dy = dy.rows(worker.first, worker.count);
      if (worker.count > 0)
        convolution_->backward_weights(worker.count, worker_dy.data(),
                                       x.rows(worker.first, worker.count).data(), dw.data(), nullptr, false,
                                       scratch);
      else
        std::ranges::fill(dw.span(), 0.0f);
      if (has_bias_)
        column_sums(worker.count * positions_, filters_, worker_dy.data(), false,
                    pass.gradient(bias_, worker).data());
    }
    if (!dx.empty())
      convolution_->forward(pass.rows(), dy.data(), pass.value(weight_).data(), nullptr, Activation::none,
                            dx.data(), scratch);
  }

  std::int64_t flops() const override { return flops_; }
  Value trace(Value x, Tracer& tracer) const override {
    std::vector<Value> inputs{x, tracer.parameter(weight_)};
    if (has_bias_) inputs.push_back(tracer.parameter(bias_));
    using Integers = std::vector<std::int64_t>;
    return tracer.graph.add("ConvTranspose", std::move(inputs), batch_extents(output_),
                            {{"kernel_shape", Integers{kernel_.h, kernel_.w}},
                             {"strides", Integers{stride_.h, stride_.w}},
                             {"pads", Integers{pad_.h, pad_.w, pad_.h, pad_.w}},
                             {"output_padding", Integers{extra_.h, extra_.w}},
                             {"dilations", Integers{dilation_.h, dilation_.w}},
                             {"group", groups_}});
  }

 private:
  Config config_;
  std::int64_t filters_, groups_;
  ConvSettings::Extents kernel_, stride_, pad_, extra_, dilation_;
  bool has_bias_;
  std::unique_ptr<Convolution> convolution_;
  Shape output_;
  std::int64_t positions_ = 0, flops_ = 0;
  ParameterId weight_, bias_;
  Buffer<> scratch_;
};

const Registry<Layer>::Add conv_transpose_layer{
    {.name = "conv_transpose",
     .help = "transposed convolution: with a stride the map grows",
     .settings = {integer("filters", "number of output channels").at_least(1).at_most(1e9),
                  integers("kernel", "height and width of a filter", 2).at_least(1).at_most(kMaxExtent),
                  integers("stride", "step in the output between adjacent inputs", 2)
                      .at_least(1)
                      .at_most(kMaxExtent)
                      .fallback("1"),
                  integers("pad", "positions removed on each side of the output", 2)
                      .at_least(0)
                      .at_most(kMaxExtent)
                      .fallback("0"),
                  integers("extra", "positions added at the bottom and at the right, less than the stride", 2)
                      .at_least(0)
                      .at_most(kMaxExtent)
                      .fallback("0"),
                  integers("dilation", "distance between the positions that a filter writes", 2)
                      .at_least(1)
                      .at_most(kMaxExtent)
                      .fallback("1"),
                  integer("groups", "number of groups of channels, each with filters of its own")
                      .at_least(1)
                      .fallback("1"),
                  boolean("bias", "add a bias to each filter").fallback("true")}},
    [](const Config& config) { return std::make_unique<ConvTranspose>(config); }};

}  // namespace
}  // namespace trainer
