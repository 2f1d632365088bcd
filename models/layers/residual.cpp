#include <algorithm>

#include "engine/math/elementwise.h"
#include "models/layers/conv.h"
#include "models/network/sequence.h"

namespace trainer {
namespace {

/// Stride along one extent that makes `out` of `in`; 0 when none does.
std::int64_t stride_between(std::int64_t in, std::int64_t out) {
  const std::int64_t stride = (in + out - 1) / out;
  return out <= in && (in + stride - 1) / stride == out ? stride : 0;
}

/// Every stride-th position with zeros as further channels (He et al. 2015, section 3.3, option A).
class PadShortcut final : public Layer {
 public:
  PadShortcut(const Shape& output, ConvSettings::Extents stride) : output_(output), stride_(stride) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    input_ = sample;
    plan.backward_reads(false, false);
    return output_;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    std::ranges::fill(y.span(), 0.0f);
    for_each_position(pass.rows(), [&](std::int64_t in, std::int64_t out) {
      std::copy_n(x.data() + in, input_[2], y.data() + out);
    });
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    std::ranges::fill(dx.span(), 0.0f);
    if (dx.empty()) return;
    for_each_position(pass.rows(), [&](std::int64_t in, std::int64_t out) {
      std::copy_n(dy.data() + out, input_[2], dx.data() + in);
    });
  }

 private:
  /// visit(offset in x, offset in y) for all positions of all rows.
  template <class Visit>
  void for_each_position(std::int64_t rows, Visit visit) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t h = 0; h < output_[0]; ++h)
        for (std::int64_t w = 0; w < output_[1]; ++w)
          visit(((row * input_[0] + h * stride_.h) * input_[1] + w * stride_.w) * input_[2],
                ((row * output_[0] + h) * output_[1] + w) * output_[2]);
  }

  Shape input_, output_;
  ConvSettings::Extents stride_;
};

/// y = body(x) + shortcut(x). In training the body of a sample can be left out (Huang et al. 2016, "Deep
/// networks with stochastic depth").
class Residual final : public Layer {
 public:
  explicit Residual(const Config& config)
      : config_(config), body_(config.items("body")), drop_(config.get<float>("drop")) {
    if (body_.entries().empty()) config.fail("body", "the body of a residual has no layers");
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    const Plan::Current self = plan.current();
    name_ = self.name;
    if (drop_ > 0) kept_ = plan.saved(1);
    const Shape output = body_.setup(sample, plan);
    make_shortcut(sample, output, plan);
    if (shortcut_) {
      plan.begin_layer(&config_, "shortcut", self.name + ".shortcut");
      shortcut_->setup(sample, plan);
      shortcut_reads_x_ = plan.current().traits.reads_x;
      plan.resume(self);
    }
    // The body's last layer may want its output in backward, and y holds the sum.
    if (body_.reads_output()) body_y_ = plan.saved(output.size());
    addend_ = plan.scratch(std::max(sample.size(), output.size()));
    plan.backward_reads(body_.reads_input() || shortcut_reads_x_, false);
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const Tensor body_y = output_of_body(y, pass);
    body_.forward(x, body_y, pass);
    ConstTensor added = x;
    if (shortcut_) {
      const Tensor shortcut_y(pass.buffer(addend_).data(), y.shape());
      shortcut_->forward(x, shortcut_y, pass);
      added = shortcut_y;
    }
    if (drop_ > 0 && pass.training()) {
      draw(pass);
      scale_rows(body_y, y, pass);
      accumulate(y.size(), added.data(), y.data());
    } else {
      add(y.size(), body_y.data(), added.data(), y.data());
    }
  }

  void backward(ConstTensor x, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    // What the shortcut gives to dx is put aside first, since the body may overwrite dy; no shortcut does.
    const Tensor addend = dx.empty() ? Tensor() : Tensor(pass.buffer(addend_).data(), dx.shape());
    if (shortcut_)
      shortcut_->backward(x, ConstTensor(), dy, addend, pass);
    else if (!dx.empty())
      std::ranges::copy(dy.span(), addend.data());
    if (drop_ > 0) scale_rows(dy, dy, pass);
    body_.backward(x, output_of_body(Tensor(nullptr, dy.shape()), pass), dy, dx, pass);
    if (!dx.empty()) accumulate(dx.size(), addend.data(), dx.data());
  }

  std::int64_t flops() const override { return body_.flops() + (shortcut_ ? shortcut_->flops() : 0); }

 private:
  void make_shortcut(const Shape& input, const Shape& output, const Plan& plan) {
    const auto kind = config_.get<std::string>("shortcut");
    if (kind != "conv" && input == output) return;
    const std::string what = "its body gives " + channels_first_text(output);
    if (kind == "identity")
      fail_to_fit(config_, plan, input, what,
                  "`shortcut: pad` or `shortcut: conv`, or a body that keeps the shape");
    if (input.rank() != 3 || output.rank() != 3)
      fail_to_fit(config_, plan, input, what, "`shortcut: " + kind + "` is for maps");
    const ConvSettings::Extents stride{stride_between(input[0], output[0]),
                                       stride_between(input[1], output[1])};
    if (stride.h == 0 || stride.w == 0)
      fail_to_fit(config_, plan, input, what, "no stride of the shortcut makes that height and width");
    if (kind == "conv") {
      shortcut_ = make_conv({.filters = output[2], .stride = stride, .bias = false}, config_);
    } else {
      if (output[2] < input[2])
        fail_to_fit(config_, plan, input, what, "`shortcut: conv`: padding cannot take channels away");
      shortcut_ = std::make_unique<PadShortcut>(output, stride);
    }
  }

  /// 0 for samples whose body is left out, else what makes up for that; it follows from the sample's index.
  void draw(const Pass& pass) const {
    const RandomStream stream = pass.random(name_);
    float* const kept = pass.buffer(kept_).data();
    for (std::size_t row = 0; row < pass.samples().size(); ++row)
      kept[row] =
          stream.uniform(static_cast<std::uint64_t>(pass.samples()[row])) < drop_ ? 0 : 1 / (1 - drop_);
  }
  void scale_rows(ConstTensor from, Tensor to, const Pass& pass) const {
    const std::int64_t size = to.row_size();
    for (std::int64_t row = 0; row < pass.rows(); ++row)
      scale(size, pass.buffer(kept_)[row], from.data() + row * size, to.data() + row * size);
  }

  Tensor output_of_body(Tensor y, const Pass& pass) const {
    return body_.reads_output() ? pass.buffer(body_y_).as(y.shape()) : y;
  }

  Config config_;
  Sequence body_;
  float drop_;
  std::string name_;
  std::unique_ptr<Layer> shortcut_;  // null: x itself
  bool shortcut_reads_x_ = false;
  BufferId body_y_, addend_, kept_;
};

const Registry<Layer>::Add registered{
    {.name = "residual",
     .help = "layers whose output is added to their input",
     .primary = "body",
     .settings = {list_of("body", "the layers", family("layer", "a layer", "layer")),
                  choice("shortcut",
                         "the input itself, or with the output's shape: `pad` (strided, zeros as further "
                         "channels) or `conv` (1x1)",
                         {"identity", "pad", "conv"})
                      .fallback("identity"),
                  real("drop", "stochastic depth: in training, the body of a sample is left out so often")
                      .at_least(0)
                      .below(1)
                      .fallback("0")}},
    [](const Config& config) { return std::make_unique<Residual>(config); }};

}  // namespace
}  // namespace trainer
