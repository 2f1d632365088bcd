#include <algorithm>

#include "models/layers/conv.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Where an output lies between two inputs along one extent, and how much it takes of the second.
struct Between {
  std::int64_t first, second;
  float of_second = 0;
  Between(std::int64_t output, std::int64_t inputs, std::int64_t factor, bool linear)
      : first(output / factor), second(first) {
    if (!linear) return;
    // Positions are the middles of pixels; those outside of the first or last middle take the edge.
    const double at = std::max((static_cast<double>(output) + 0.5) / static_cast<double>(factor) - 0.5, 0.0);
    first = static_cast<std::int64_t>(at);
    second = std::min(first + 1, inputs - 1);
    of_second = static_cast<float>(at - static_cast<double>(first));
  }
};

/// (H, W, C) -> (h H, w W, C) for whole factors h and w: each pixel repeated, or bilinear interpolation.
class Upsample final : public Layer {
 public:
  explicit Upsample(const Config& config)
      : config_(config),
        factor_(extents_of(config, "factor")),
        linear_(config.get<std::string>("mode") == "bilinear") {}

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    input_ = sample;
    output_ = {sample[0] * factor_.h, sample[1] * factor_.w, sample[2]};
    plan.backward_reads(false, false);
    return output_;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const std::int64_t channels = input_[2];
    for_each_output(pass.rows(), [&](std::int64_t out, const std::int64_t(&in)[4], const float(&share)[4]) {
      float* const to = y.data() + out;
      const float* const from = x.data();
      if (!linear_)
        std::copy_n(from + in[0], channels, to);
      else
        for (std::int64_t c = 0; c < channels; ++c)
          to[c] = (share[0] * from[in[0] + c] + share[1] * from[in[1] + c]) +
                  (share[2] * from[in[2] + c] + share[3] * from[in[3] + c]);
    });
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    std::ranges::fill(dx.span(), 0.0f);
    const std::int64_t channels = input_[2];
    for_each_output(pass.rows(), [&](std::int64_t out, const std::int64_t(&in)[4], const float(&share)[4]) {
      const float* const from = dy.data() + out;
      for (int tap = 0; tap < (linear_ ? 4 : 1); ++tap) {
        float* const to = dx.data() + in[tap];
        for (std::int64_t c = 0; c < channels; ++c) to[c] += share[tap] * from[c];
      }
    });
  }
  Value trace(Value x, Tracer& tracer) const override {
    Graph& graph = tracer.graph;
    const Value scales =
        graph.constant("scales", {4}, {1, 1, static_cast<float>(factor_.h), static_cast<float>(factor_.w)});
    Attributes attributes{{"mode", std::string("nearest")},
                          {"coordinate_transformation_mode", std::string("asymmetric")},
                          {"nearest_mode", std::string("floor")}};
    if (linear_)
      attributes = {{"mode", std::string("linear")},
                    {"coordinate_transformation_mode", std::string("half_pixel")}};
    return graph.add("Resize", {x, kNoValue, scales}, batch_extents(output_), attributes);
  }

 private:
  /// visit(offset in y, offsets of four pixels of x, how much each counts) for all pixels of all rows.
  template <class Visit>
  void for_each_output(std::int64_t rows, Visit visit) const {
    const std::int64_t width = input_[1], channels = input_[2];
    std::int64_t out = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < output_[0]; ++i) {
        const Between h(i, input_[0], factor_.h, linear_);
        for (std::int64_t j = 0; j < output_[1]; ++j) {
          const Between w(j, width, factor_.w, linear_);
          const std::int64_t top = (row * input_[0] + h.first) * width,
                             bottom = (row * input_[0] + h.second) * width;
          const std::int64_t in[4] = {(top + w.first) * channels, (top + w.second) * channels,
                                      (bottom + w.first) * channels, (bottom + w.second) * channels};
          const float share[4] = {(1 - h.of_second) * (1 - w.of_second), (1 - h.of_second) * w.of_second,
                                  h.of_second * (1 - w.of_second), h.of_second * w.of_second};
          visit(out, in, share);
          out += channels;
        }
      }
  }

  Config config_;
  ConvSettings::Extents factor_;
  bool linear_;
  Shape input_, output_;
};

const Registry<Layer>::Add upsample_layer{
    {.name = "upsample",
     .help = "scales height and width of a map by a whole factor",
     .primary = "factor",
     .settings = {integers("factor", "factors of height and width", 2).at_least(1).at_most(1e4),
                  choice("mode", "repeat pixels, or bilinear interpolation", {"nearest", "bilinear"})
                      .fallback("nearest")}},
    [](const Config& config) { return std::make_unique<Upsample>(config); }};

}  // namespace
}  // namespace trainer
