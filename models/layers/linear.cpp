#include "models/layers/linear.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/math/elementwise.h"
#include "engine/math/tree_gemm.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// What all virtual workers have for some inputs; the second-level cache holds it.
constexpr std::int64_t kSummedFloats = 128 << 10;
/// A part of a weight that arrives, or whose gradient leaves, while the rest is computed.
constexpr std::int64_t kPartFloats = 1 << 21;
/// A product of fewer inputs costs more than the cache saves.
constexpr std::int64_t kFewestInputs = 16;
/// Virtual workers of a thread, in products that add along their tree.
constexpr std::size_t kMaxGroups = 64;

}  // namespace

Parameter Linear::weight(const Extents& extents, const std::string& name) {
  return {.name = name,
          .shape = {extents.inputs, extents.outputs},
          .layout = FileLayout::dense,
          .fan_in = extents.inputs,
          .fan_out = extents.outputs};
}

Parameter Linear::bias(std::int64_t outputs, const std::string& name) {
  return {.name = name, .shape = {outputs}, .is_weight = false};
}

Linear::Linear(Plan& plan, const Extents& extents, Parameter weight, const std::optional<Parameter>& bias)
    : extents_(extents) {
  // Where an element has the same bits however products are cut, the gradient is computed for a few inputs at
  // a time, and the virtual workers' parts are added while the cache holds them.
  const std::int64_t of_input = plan.max_virtual_workers() * extents.outputs;
  is_frozen_ = weight.is_frozen;
  weight.summed_by_layer = !is_frozen_ && plan.max_virtual_workers() > 1 && of_input > 0 &&
                           of_input * kFewestInputs <= 4 * kSummedFloats && gemm_is_chained();
  if (weight.summed_by_layer) {
    inputs_at_once_ =
        std::clamp(kSummedFloats / of_input, std::min(kFewestInputs, extents.inputs), extents.inputs);
    gradients_at_once_ = plan.scratch(0, inputs_at_once_ * of_input);
  }
  weight_ = plan.parameter(std::move(weight));
  if (bias) bias_ = plan.parameter(*bias);
}

void Linear::split_products(std::vector<std::int64_t> inputs, std::vector<std::int64_t> outputs) {
  input_borders_ = std::move(inputs);
  output_borders_ = std::move(outputs);
}

/// product(lines, range) for `lines` and the whole `extent` at once where bits do not depend on that, else
/// for the lines of each virtual worker and each range between `borders`.
template <class Product>
void Linear::for_each_product(const Pass& pass, const Range& lines, const std::vector<std::int64_t>& borders,
                              std::int64_t extent, Product product) const {
  if (gemm_is_chained()) return product(lines, Range{0, extent});
  for (const VirtualWorker& worker : pass.virtual_workers()) {
    if (borders.empty()) product(lines_of(worker), Range{0, extent});
    for (std::size_t i = 1; i < borders.size(); ++i)
      product(lines_of(worker), Range{borders[i - 1], borders[i]});
  }
}

std::int64_t Linear::inputs_of_part() const {
  // An even number, where products of bfloat16 may be cut.
  return std::max(kFewestInputs, kPartFloats / std::max<std::int64_t>(1, extents_.outputs) / 2 * 2);
}

void Linear::forward_in_parts(const float* x, float* y, Pass& pass) const {
  // Bits depend on the cuts unless products are chains.
  const std::int64_t part = gemm_is_chained() && !transposed_ ? inputs_of_part() : extents_.inputs;
  for (std::int64_t first = 0; first < extents_.inputs; first += part) {
    const Range inputs{first, std::min(first + part, extents_.inputs)};
    pass.acquire(weight_, inputs.last * extents_.outputs);
    forward(x, all_lines(pass), inputs, y, pass, first > 0);
  }
  if (bias_) pass.acquire(bias_, extents_.outputs);
}

void Linear::backward_in_parts(const float* x, const float* dy, float* dx, Pass& pass) const {
  if (is_frozen_ || pass.virtual_workers().size() != 1 || transposed_ || !gemm_is_chained())
    return backward(x, dy, dx, pass);
  const VirtualWorker& worker = pass.virtual_workers().front();
  find_bias_gradient(dy, worker, pass);
  float* const gradient = pass.gradient(weight_, worker).data();
  for (std::int64_t last = extents_.inputs; last > 0;) {
    const Range inputs{std::max<std::int64_t>(0, last - inputs_of_part()), last};
    find_weight_gradient(x, dy, lines_of(worker), inputs, pass.adds_gradient(weight_) ? 1.0f : 0.0f,
                         gradient + inputs.first * extents_.outputs);
    pass.gradient_is_final(weight_, inputs.first * extents_.outputs);
    last = inputs.first;
  }
  if (dx) backward_data(dy, dx, pass);
}

void Linear::forward(const float* x, const Range& lines, const Range& inputs, float* y, const Pass& pass,
                     bool adds) const {
  const float* const weight = pass.value(weight_).data();
  for_each_product(
      pass, lines, output_borders_, extents_.outputs, [&](const Range& some, const Range& outputs) {
        gemm(Transpose::no, transposed_ ? Transpose::yes : Transpose::no, some.count(), outputs.count(),
             inputs.count(), x + some.first * extents_.inputs + inputs.first, extents_.inputs,
             weight + weight_at(inputs.first, outputs.first), weight_row(), adds ? 1.0f : 0.0f,
             y + (some.first - lines.first) * extents_.outputs + outputs.first, extents_.outputs);
      });
}

Value Linear::trace(Value x, Tracer& tracer) const {
  Graph& graph = tracer.graph;
  trainer::Extents extents = graph.extents(x);
  extents.back() = extents_.outputs;
  const bool has_positions = extents.size() > 2;
  if (has_positions) x = reshape(graph, x, {kBatch, extents_.inputs});
  std::vector<Value> inputs{x, tracer.parameter(weight_)};
  if (bias_) inputs.push_back(tracer.parameter(bias_));
  // A file has (outputs, inputs) of a layer's own weight.
  const bool is_turned = (tracer.declared(weight_).layout == FileLayout::dense) != transposed_;
  const Value y = graph.add("Gemm", inputs, {kBatch, extents_.outputs},
                            {{"transB", static_cast<std::int64_t>(is_turned)}});
  return has_positions ? reshape(graph, y, extents) : y;
}

void Linear::add_bias(float* y, const Pass& pass) const {
  if (const float* const bias = bias_values(pass))
    bias_activate(Activation::none, pass.rows() * extents_.positions, extents_.outputs, y, bias, y);
}

void Linear::backward_data(const float* dy, const Range& lines, const Range& outputs, float* dx,
                           const Pass& pass, bool adds) const {
  const float* const weight = pass.value(weight_).data();
  for_each_product(pass, lines, input_borders_, extents_.inputs, [&](const Range& some, const Range& inputs) {
    gemm(Transpose::no, transposed_ ? Transpose::no : Transpose::yes, some.count(), inputs.count(),
         outputs.count(), dy + some.first * extents_.outputs + outputs.first, extents_.outputs,
         weight + weight_at(inputs.first, outputs.first), weight_row(), adds ? 1.0f : 0.0f,
         dx + (some.first - lines.first) * extents_.inputs + inputs.first, extents_.inputs);
  });
}

void Linear::backward_parameters(const float* x, const float* dy, Pass& pass) const {
  const bool sums = pass.layer_sums(weight_);
  if (sums) sum_weight_gradient(x, dy, pass);
  for (const VirtualWorker& worker : pass.virtual_workers()) {
    const Range lines = lines_of(worker);
    if (is_frozen_ && !pass.adds_gradient(weight_))
      std::ranges::fill(pass.gradient(weight_, worker).span(), 0.0f);
    else if (!is_frozen_ && !sums)
      find_weight_gradient(x, dy, lines, {0, extents_.inputs}, pass.adds_gradient(weight_) ? 1.0f : 0.0f,
                           pass.gradient(weight_, worker).data());
    find_bias_gradient(dy, worker, pass);
  }
}

void Linear::find_bias_gradient(const float* dy, const VirtualWorker& worker, Pass& pass) const {
  if (!bias_) return;
  const Range lines = lines_of(worker);
  column_sums(lines.count(), extents_.outputs, dy + lines.first * extents_.outputs, pass.adds_gradient(bias_),
              pass.gradient(bias_, worker).data());
}

/// As one product that adds along the tree.
bool Linear::sum_in_product(const float* x, const float* dy, Pass& pass) const {
  const Pass::GradientTree sums = pass.gradient_tree(weight_);
  const std::span<const VirtualWorker> workers = pass.virtual_workers();
  std::array<std::int64_t, kMaxGroups> ends;
  if (!sums.tree || workers.size() > ends.size()) return false;
  const std::int64_t first = lines_of(workers.front()).first;
  std::ranges::transform(workers, ends.begin(),
                         [&](const VirtualWorker& worker) { return lines_of(worker).last - first; });
  return gemm_along_tree(*sums.tree, std::span(ends).first(workers.size()), extents_.inputs, extents_.outputs,
                         x + first * extents_.inputs, extents_.inputs, dy + first * extents_.outputs,
                         extents_.outputs, std::span(sums.roots).first(sums.tree->roots().size()),
                         extents_.outputs);
}

void Linear::sum_weight_gradient(const float* x, const float* dy, Pass& pass) const {
  if (sum_in_product(x, dy, pass)) return;
  float* const of_workers = pass.buffer(gradients_at_once_).data();
  for (std::int64_t first = 0; first < extents_.inputs; first += inputs_at_once_) {
    const Range inputs{first, std::min(first + inputs_at_once_, extents_.inputs)};
    float* end = of_workers;
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      find_weight_gradient(x, dy, lines_of(worker), inputs, 0, end);
      end += inputs.count() * extents_.outputs;
    }
    pass.sum_gradient(weight_, first * extents_.outputs, {of_workers, end});
  }
}

/// dw = x' dy + beta dw, where dw has the inputs `here` only; all of them where BLAS computes.
void Linear::find_weight_gradient(const float* x, const float* dy, const Range& lines, const Range& here,
                                  float beta, float* dw) const {
  const auto multiply = [&](const Range& inputs, const Range& outputs) {
    const float* const from = x + lines.first * extents_.inputs + inputs.first;
    const float* const gradient = dy + lines.first * extents_.outputs + outputs.first;
    float* const to = dw + weight_at(inputs.first - here.first, outputs.first);
    if (transposed_)
      gemm(Transpose::yes, Transpose::no, outputs.count(), inputs.count(), lines.count(), gradient,
           extents_.outputs, from, extents_.inputs, beta, to, weight_row());
    else
      gemm(Transpose::yes, Transpose::no, inputs.count(), outputs.count(), lines.count(), from,
           extents_.inputs, gradient, extents_.outputs, beta, to, weight_row());
  };
  if (gemm_is_chained() || input_borders_.empty()) return multiply(here, {0, extents_.outputs});
  for (std::size_t i = 1; i < input_borders_.size(); ++i)
    for (std::size_t j = 1; j < output_borders_.size(); ++j)
      multiply({input_borders_[i - 1], input_borders_[i]}, {output_borders_[j - 1], output_borders_[j]});
}

void Linear::forward_lines(std::int64_t lines, const float* x, float* y, const Pass& pass) const {
  gemm(Transpose::no, transposed_ ? Transpose::yes : Transpose::no, lines, extents_.outputs, extents_.inputs,
       x, extents_.inputs, pass.value(weight_).data(), weight_row(), 0, y, extents_.outputs);
}

void Linear::weight_gradient_of_lines(std::int64_t lines, const float* x, const float* dy,
                                      const VirtualWorker& worker, const Pass& pass) const {
  find_weight_gradient(x, dy, {0, lines}, {0, extents_.inputs}, 0, pass.gradient(weight_, worker).data());
}

void Linear::backward_lines(std::int64_t lines, const float* dy, bool adds, float* dx,
                            const Pass& pass) const {
  gemm(Transpose::no, transposed_ ? Transpose::no : Transpose::yes, lines, extents_.inputs, extents_.outputs,
       dy, extents_.outputs, pass.value(weight_).data(), weight_row(), adds ? 1.0f : 0.0f, dx,
       extents_.inputs);
}

}  // namespace trainer
