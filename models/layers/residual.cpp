#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/math/elementwise.h"
#include "models/layers/conv.h"
#include "models/layers/sequence.h"
#include "models/layers/tracer.h"

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
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    Extents extents = batch_extents(output_);
    extents[1] = input_[2];
    // A pooling of one position, so that windows are at the strided ones.
    const std::vector<std::int64_t> one{1, 1}, strides{stride_.h, stride_.w};
    const Value kept = graph.add("MaxPool", {x}, extents, {{"kernel_shape", one}, {"strides", strides}});
    if (output_[2] == input_[2]) return kept;
    const Value pads = graph.integers("pads", {0, 0, 0, 0, 0, output_[2] - input_[2], 0, 0});
    return graph.add("Pad", {kept, pads}, batch_extents(output_));
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

/// y = body(x) + shortcut(x) (He et al. 2015). In training the body of a sample can be left out (Huang et al.
/// 2016, "Deep networks with stochastic depth").
class Residual final : public CompositeLayer {
 public:
  explicit Residual(const Config& config)
      : config_(config), body_(config.items("body")), drop_(config.get<float>("drop")) {
    if (body_.entries().empty()) config.fail("body", "the body of a residual has no layers");
    const Config shortcut = config.at("shortcut");
    if (shortcut.type() == "layers") shortcut_layers_.emplace(shortcut.items());
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    name_ = plan.layer_name();
    if (drop_ > 0) kept_ = plan.saved(1);
    const Shape output = body_.setup(sample, plan);
    if (shortcut_layers_)
      setup_shortcut_layers(sample, output, plan);
    else
      setup_shortcut(sample, output, plan);
    // Backward of the body's last layer may read its output, and y holds the sum.
    if (body_.reads_output()) body_y_ = plan.activation(output.size());
    addend_ = plan.scratch(std::max(sample.size(), output.size()));
    plan.backward_reads(body_.reads_input() || shortcut_reads_x_, false);
    return output;
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const Tensor body_y = output_of_body(y, pass);
    body_.forward(x, body_y, pass);
    ConstTensor added = x;
    if (Layer* const shortcut = shortcut_layer()) {
      const Tensor shortcut_y(pass.buffer(shortcut_layers_ ? shortcut_y_ : addend_).data(), y.shape());
      shortcut->forward(x, shortcut_y, pass);
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
    // The body may overwrite dy, so the shortcut's part of dx is computed first.
    const Tensor addend = dx.empty() ? Tensor() : Tensor(pass.buffer(addend_).data(), dx.shape());
    if (shortcut_layers_) {
      const Tensor shortcut_dy(pass.buffer(shortcut_dy_).data(), dy.shape());
      std::ranges::copy(dy.span(), shortcut_dy.data());
      shortcut_layers_->backward(x, pass.buffer(shortcut_y_).as(dy.shape()), shortcut_dy, addend, pass);
    } else if (shortcut_) {
      shortcut_->backward(x, ConstTensor(), dy, addend, pass);
    } else if (!dx.empty()) {
      std::ranges::copy(dy.span(), addend.data());
    }
    if (drop_ > 0) scale_rows(dy, dy, pass);
    body_.backward(x, output_of_body(Tensor(nullptr, dy.shape()), pass), dy, dx, pass);
    if (!dx.empty()) accumulate(dx.size(), addend.data(), dx.data());
  }
  bool is_stepwise() const override {
    return body_.is_stepwise() && !shortcut_ && (!shortcut_layers_ || shortcut_layers_->is_stepwise());
  }
  Value trace(Value x, Tracer& tracer) const override {
    const Value y = body_.trace(x, tracer);
    const Layer* const shortcut = shortcut_layer();
    return binary(tracer.graph, "Add", y, shortcut ? shortcut->trace(x, tracer) : x);
  }

  std::vector<Sequence*> sequences() override {
    std::vector<Sequence*> result{&body_};
    if (shortcut_layers_) result.push_back(&*shortcut_layers_);
    return result;
  }
  std::int64_t flops() const override {
    const Layer* const shortcut = shortcut_layer();
    return body_.flops() + (shortcut ? shortcut->flops() : 0);
  }

 private:
  const Layer* shortcut_layer() const { return shortcut_layers_ ? &*shortcut_layers_ : shortcut_.get(); }
  Layer* shortcut_layer() { return const_cast<Layer*>(std::as_const(*this).shortcut_layer()); }

  void setup_shortcut_layers(const Shape& sample, const Shape& output, Plan& plan) {
    const Shape shortcut = shortcut_layers_->setup(sample, plan);
    if (shortcut != output)
      fail_to_fit(
          config_, plan, sample,
          "its body gives " + channels_first_text(output) + ", its shortcut " + channels_first_text(shortcut),
          "a shortcut with the output's shape");
    shortcut_reads_x_ = shortcut_layers_->reads_input();
    shortcut_y_ = plan.activation(output.size());
    shortcut_dy_ = plan.scratch(output.size());
  }

  void setup_shortcut(const Shape& sample, const Shape& output, Plan& plan) {
    make_shortcut(config_.at("shortcut").value<std::string>(), sample, output, plan);
    if (!shortcut_) return;
    NestedPlan nested(plan);
    nested.begin_layer(&config_, "shortcut", name_ + ".shortcut");
    shortcut_->setup(sample, plan);
    shortcut_reads_x_ = nested.traits().reads_x;
  }

  void make_shortcut(const std::string& kind, const Shape& input, const Shape& output, const Plan& plan) {
    if (kind != "conv" && input == output) return;
    const std::string what = "its body gives " + channels_first_text(output);
    if (kind == "identity")
      fail_to_fit(config_, plan, input, what,
                  "`shortcut: pad`, `shortcut: conv` or a list of layers, or a body that keeps the shape");
    if (input.rank() != 3 || output.rank() != 3)
      fail_to_fit(config_, plan, input, what, "`shortcut: " + kind + "` requires a map");
    const ConvSettings::Extents stride{stride_between(input[0], output[0]),
                                       stride_between(input[1], output[1])};
    if (stride.h == 0 || stride.w == 0)
      fail_to_fit(config_, plan, input, what, "no stride of the shortcut makes that height and width");
    if (kind == "conv") {
      shortcut_ = std::make_unique<Conv>(ConvSettings{.filters = output[2], .stride = stride, .bias = false},
                                         config_);
    } else {
      if (output[2] < input[2])
        fail_to_fit(config_, plan, input, what, "`shortcut: conv`: padding cannot take channels away");
      shortcut_ = std::make_unique<PadShortcut>(output, stride);
    }
  }

  /// 0 for samples whose body is left out, else 1 / (1 - drop); it follows from the sample's index.
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
  std::optional<Sequence> shortcut_layers_;
  std::unique_ptr<Layer> shortcut_;  ///< by a word; null: x itself
  bool shortcut_reads_x_ = false;
  Buffer<> body_y_, addend_, kept_, shortcut_y_, shortcut_dy_;
};

const Registry<Layer>::Add residual_layer{
    {.name = "residual",
     .help = "residual block: the output of its body is added to its input",
     .primary = "body",
     .settings = {list_of("body", "the layers of the body", family("layer", "a layer", "layer")),
                  either(
                      "shortcut",
                      "what is added: the input (`identity`), a strided input with zeros as further channels "
                      "(`pad`), a 1x1 convolution (`conv`), or a list of layers",
                      {choice("kind", "a shortcut without layers of its own", {"identity", "pad", "conv"}),
                       list_of("layers", "layers that give the shape of the body's output",
                               family("layer", "a layer", "layer"))})
                      .fallback("identity"),
                  real("drop",
                       "stochastic depth: probability in training that the body of a sample is left out")
                      .at_least(0)
                      .below(1)
                      .fallback("0")}},
    [](const Config& config) { return std::make_unique<Residual>(config); }};

}  // namespace
}  // namespace trainer
