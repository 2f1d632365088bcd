#include <fmt/format.h>

#include <algorithm>

#include "models/layers/conv.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// The means of size h x size w windows of nearly equal extents: (H, W, C) -> (h, w, C), for any H and W.
class AdaptiveAveragePool final : public Layer {
 public:
  explicit AdaptiveAveragePool(const Config& config) : config_(config), size_(extents_of(config, "size")) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    require_map(config_, plan, sample);
    if (size_.h > sample[0] || size_.w > sample[1])
      fail_to_fit(config_, plan, sample, fmt::format("its output is {}x{}", size_.h, size_.w),
                  "a smaller size, or `upsample`");
    input_ = sample;
    output_ = {size_.h, size_.w, sample[2]};
    plan.backward_reads(false, false);
    return output_;
  }
  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    std::ranges::fill(y.span(), 0.0f);
    for_each_tap(pass.rows(), [&](std::int64_t in, std::int64_t out, float share) {
      for (std::int64_t c = 0; c < output_[2]; ++c) y.data()[out + c] += share * x.data()[in + c];
    });
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    std::ranges::fill(dx.span(), 0.0f);
    for_each_tap(pass.rows(), [&](std::int64_t in, std::int64_t out, float share) {
      for (std::int64_t c = 0; c < output_[2]; ++c) dx.data()[in + c] += share * dy.data()[out + c];
    });
  }
  Value trace(Value x, Tracer& tracer) const override {
    if (input_[0] % size_.h == 0 && input_[1] % size_.w == 0) {
      const std::vector<std::int64_t> window{input_[0] / size_.h, input_[1] / size_.w};
      return tracer.graph.add("AveragePool", {x}, batch_extents(output_),
                              {{"kernel_shape", window}, {"strides", window}});
    }
    // Windows of several extents: means of rows, then of columns, as products with matrices.
    Graph& graph = tracer.graph;
    const Value rows = graph.constant("rows", {size_.h, input_[0]}, shares(size_.h, input_[0], false));
    const Value columns = graph.constant("columns", {input_[1], size_.w}, shares(size_.w, input_[1], true));
    return matrix_product(graph, matrix_product(graph, rows, x), columns);
  }

 private:
  /// The matrix (outputs, inputs) of the means along one extent, or its transpose.
  static std::vector<float> shares(std::int64_t outputs, std::int64_t inputs, bool transposed) {
    std::vector<float> matrix(static_cast<std::size_t>(outputs * inputs));
    for (std::int64_t o = 0; o < outputs; ++o) {
      const Window window(o, outputs, inputs);
      for (std::int64_t i = window.first; i < window.last; ++i)
        matrix[static_cast<std::size_t>(transposed ? i * outputs + o : o * inputs + i)] =
            1 / static_cast<float>(window.count());
    }
    return matrix;
  }

  /// The positions of which output `index` of `outputs` is the mean; windows may share one.
  struct Window {
    std::int64_t first, last;
    Window(std::int64_t index, std::int64_t outputs, std::int64_t inputs)
        : first(index * inputs / outputs), last(((index + 1) * inputs + outputs - 1) / outputs) {}
    std::int64_t count() const { return last - first; }
  };

  /// visit(offset in x, offset in y, 1 / size of the window) for all pairs of positions.
  template <class Visit>
  void for_each_tap(std::int64_t rows, Visit visit) const {
    const std::int64_t height = input_[0], width = input_[1], channels = input_[2];
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t h = 0; h < size_.h; ++h)
        for (std::int64_t w = 0; w < size_.w; ++w) {
          const Window down(h, size_.h, height), across(w, size_.w, width);
          const float share = 1 / static_cast<float>(down.count() * across.count());
          const std::int64_t out = ((row * size_.h + h) * size_.w + w) * channels;
          for (std::int64_t i = down.first; i < down.last; ++i)
            for (std::int64_t j = across.first; j < across.last; ++j)
              visit(((row * height + i) * width + j) * channels, out, share);
        }
  }

  Config config_;
  ConvSettings::Extents size_;
  Shape input_, output_;
};

const Registry<Layer>::Add adaptive_avg_pool_layer{
    {.name = "adaptive_avg_pool",
     .help = "average pooling to a fixed size, whatever the size of the map",
     .primary = "size",
     .settings = {integers("size", "height and width of the output", 2).at_least(1).at_most(1e6)}},
    [](const Config& config) { return std::make_unique<AdaptiveAveragePool>(config); }};

}  // namespace
}  // namespace trainer
