#include "models/layers/dense.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/range.h"
#include "engine/math/elementwise.h"
#include "models/layers/activation_setting.h"

namespace trainer {
namespace {

/// What all blocks give for some inputs, which the second-level cache is to keep.
constexpr std::int64_t kSummedFloats = 128 << 10;
/// A product of fewer takes longer than they save.
constexpr std::int64_t kFewestInputs = 16;

/// Rows of the matrix that a block of samples makes.
struct MatrixRows {
  std::int64_t first = 0, count = 0;

  static MatrixRows of(const Block& block, std::int64_t positions) {
    return {block.first * positions, block.count * positions};
  }
};

/// y = f(sum + bias), and sum becomes its slope there; few rows at a time, so that the second pass finds them
/// in the cache.
void activate_with_derivative(Activation f, std::int64_t rows, std::int64_t columns, const float* bias,
                              float* sum, float* y) {
  const std::int64_t block = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(columns, 1));
  for (std::int64_t row = 0; row < rows; row += block) {
    const std::int64_t here = std::min(block, rows - row), first = row * columns;
    if (bias) bias_activate(Activation::none, here, columns, sum + first, bias, sum + first);
    trainer::activate_with_derivative(f, here * columns, sum + first, y + first, sum + first);
  }
}

/// dy becomes the gradient before the activation.
void multiply_by_slope(Activation f, const Pass& pass, BufferId slope, ConstTensor y, Tensor dy) {
  if (derivative_from_input(f))
    multiply(dy.size(), dy.data(), pass.buffer(slope).data(), dy.data());
  else if (f != Activation::none)
    activate_backward(f, dy.size(), y.data(), dy.data(), dy.data());
}

/// product(rows, columns) for all rows and columns at once where a product's bits do not depend on their
/// number, else for each block of rows and of columns, which `borders` cut.
template <class Product>
void for_each_product(const Pass& pass, std::int64_t positions, std::span<const std::int64_t> borders,
                      Product product) {
  if (gemm_is_chained())
    return product(MatrixRows{0, pass.rows() * positions}, Range{borders.front(), borders.back()});
  for (const Block& block : pass.blocks())
    for (std::size_t i = 1; i < borders.size(); ++i)
      product(MatrixRows::of(block, positions), Range{borders[i - 1], borders[i]});
}

}  // namespace

Dense::Dense(const Config& config)
    : config_(config),
      has_bias_(config.get<bool>("bias")),
      tied_to_(config.has("tie") ? config.get<std::string>("tie") : ""),
      activation_(activation_of(config)) {
  (config.has("units") ? units_ : expand_) =
      config.get<std::int64_t>(config.has("units") ? "units" : "expand");
}

ParameterId Dense::find_tied_weight(const Shape& sample, Plan& plan) const {
  const std::optional<ParameterId> shared = plan.share(tied_to_ + ".weight");
  if (!shared)
    config_.fail("tie", fmt::format("no layer before this one is named `{}` and has a weight", tied_to_),
                 "give it a `name`");
  const Parameter& weight = plan.parameter(*shared);
  if (weight.shape != Shape{units_, inputs_})
    fail_to_fit(config_, plan, sample,
                fmt::format("{} units from {} inputs, but {} is {}", units_, inputs_, weight.name,
                            weight.shape.text()));
  return *shared;
}

Shape Dense::setup(const Shape& sample, Plan& plan) {
  const bool by_outputs = cut_.along == Cut::Along::outputs, by_inputs = cut_.along == Cut::Along::inputs;
  name_ = plan.layer_name();
  inputs_ = sample[sample.rank() - 1];
  if (expand_ > 0) units_ = Shape{expand_, inputs_}.size();
  outputs_ = by_outputs ? cut_.last - cut_.first : units_;
  positions_ = sample.with_last(1).size();
  whole_inputs_ = by_inputs ? cut_.inputs : inputs_;
  flops_ = Plan::flops({positions_, whole_inputs_, units_});

  Parameter weight{.name = "weight",
                   .shape = {inputs_, outputs_},
                   .layout = FileLayout::dense,
                   .fan_in = whole_inputs_,
                   .fan_out = units_};
  Parameter bias{.name = "bias", .shape = {outputs_}, .is_weight = false};
  if (cut_.along != Cut::Along::none) {
    weight.cut_axis = by_outputs ? 1 : 0;
    weight.cut_first = cut_.first;
    weight.whole = Shape{whole_inputs_, units_};
    bias.cut_axis = 0;
    bias.cut_first = cut_.first;
    bias.whole = Shape{units_};
  }
  if (sums_forward()) bias.cut_axis = -1;
  // Where an element has the same bits however products are cut, the gradient lies by inputs, and a few of
  // them fit into the cache.
  const std::int64_t of_input = plan.max_blocks() * outputs_;
  weight.summed_by_layer = plan.max_blocks() > 1 && of_input > 0 &&
                           of_input * kFewestInputs <= 4 * kSummedFloats && gemm_is_chained() && !is_tied();
  if (weight.summed_by_layer) {
    inputs_at_once_ = std::clamp(kSummedFloats / of_input, std::min(kFewestInputs, inputs_), inputs_);
    block_rows_ = plan.scratch(0, inputs_at_once_ * of_input);
  }
  weight_ = is_tied() ? find_tied_weight(sample, plan) : plan.parameter(weight);
  const bool whole_sums = !by_inputs || sums_forward();
  adds_bias_ = has_bias_ && whole_sums;
  if (adds_bias_) bias_ = plan.parameter(bias);
  applied_ = whole_sums ? activation_ : Activation::none;
  if (derivative_from_input(applied_)) slope_ = plan.saved(sample.with_last(outputs_).size());
  plan.backward_reads(true, applied_ != Activation::none && !derivative_from_input(applied_));

  input_borders_ = {0, inputs_};
  unit_borders_ = {0, outputs_};
  if (block_sum_) {
    const std::span<const std::int64_t> borders = block_sum_->borders();
    (by_inputs ? input_borders_ : unit_borders_).assign(borders.begin(), borders.end());
    const std::int64_t summed = (by_inputs ? sample.with_last(outputs_) : sample).size();
    parts_ = plan.scratch(Shape{summed, block_sum_->blocks()}.size());
    sum_scratch_ = plan.scratch(Shape{summed, block_sum_->scratch()}.size());
  }
  return sample.with_last(outputs_);
}

/// total = the sum over the blocks of the cut extent, of all ranks; product(block, part) fills a block's
/// part.
template <class Product>
void Dense::sum_blocks(const Pass& pass, std::span<float> total, Product product) const {
  const std::span<const std::int64_t> borders = block_sum_->borders();
  const std::span<float> parts(pass.buffer(parts_).data(),
                               total.size() * static_cast<std::size_t>(block_sum_->blocks()));
  for (std::size_t i = 1; i < borders.size(); ++i)
    product(Range{borders[i - 1], borders[i]}, parts.data() + (i - 1) * total.size());
  block_sum_->sum(
      pass.worker(), parts, total,
      {pass.buffer(sum_scratch_).data(), total.size() * static_cast<std::size_t>(block_sum_->scratch())});
}

void Dense::forward(ConstTensor x, Tensor y, Pass& pass) {
  const bool keeps_slope = derivative_from_input(applied_);
  float* const sum = keeps_slope ? pass.buffer(slope_).data() : y.data();
  const float* const weight = pass.value(weight_).data();
  const auto multiply = [&](const Range& inputs, float* to) {
    for_each_product(pass, positions_, unit_borders_, [&](const MatrixRows& rows, const Range& units) {
      gemm(Transpose::no, orientation(), rows.count, units.count(), inputs.count(),
           x.data() + rows.first * inputs_ + inputs.first, inputs_,
           weight + weight_at(inputs.first, units.first), weight_row(), 0,
           to + rows.first * outputs_ + units.first, outputs_);
    });
  };
  if (sums_forward())
    sum_blocks(pass, {sum, static_cast<std::size_t>(y.size())}, multiply);
  else
    multiply({0, inputs_}, sum);
  const float* const bias = adds_bias_ ? pass.value(bias_).data() : nullptr;
  if (keeps_slope)
    activate_with_derivative(applied_, pass.rows() * positions_, outputs_, bias, sum, y.data());
  else if (bias || applied_ != Activation::none)
    bias_activate(applied_, pass.rows() * positions_, outputs_, y.data(), bias, y.data());
}

void Dense::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  multiply_by_slope(applied_, pass, slope_, y, dy);
  if (pass.layer_sums(weight_)) sum_weight_gradient(x, dy, pass);
  for (const Block& block : pass.blocks()) {
    if (!pass.layer_sums(weight_))
      find_weight_gradient(x, dy, block, {0, inputs_}, pass.adds_gradient(weight_) ? 1.0f : 0.0f,
                           pass.gradient(weight_, block).data());
    const MatrixRows rows = MatrixRows::of(block, positions_);
    if (adds_bias_)
      column_sums(rows.count, outputs_, dy.data() + rows.first * outputs_, false,
                  pass.gradient(bias_, block).data());
  }
  if (dx.empty()) return;
  const float* const weight = pass.value(weight_).data();
  const auto multiply = [&](const Range& units, float* to) {
    for_each_product(pass, positions_, input_borders_, [&](const MatrixRows& rows, const Range& inputs) {
      gemm(Transpose::no, is_tied() ? Transpose::no : Transpose::yes, rows.count, inputs.count(),
           units.count(), dy.data() + rows.first * outputs_ + units.first, outputs_,
           weight + weight_at(inputs.first, units.first), weight_row(), 0,
           to + rows.first * inputs_ + inputs.first, inputs_);
    });
  };
  if (sums_backward())
    sum_blocks(pass, dx.span(), multiply);
  else
    multiply({0, outputs_}, dx.data());
}

/// Few inputs at a time, so that what their blocks give is added while the cache has it.
void Dense::sum_weight_gradient(ConstTensor x, ConstTensor dy, Pass& pass) const {
  float* const of_blocks = pass.buffer(block_rows_).data();
  for (std::int64_t first = 0; first < inputs_; first += inputs_at_once_) {
    const Range inputs{first, std::min(first + inputs_at_once_, inputs_)};
    float* end = of_blocks;
    for (const Block& block : pass.blocks()) {
      find_weight_gradient(x, dy, block, inputs, 0, end);
      end += inputs.count() * outputs_;
    }
    pass.sum_over_blocks(weight_, first * outputs_, {of_blocks, end});
  }
}

void Dense::find_weight_gradient(ConstTensor x, ConstTensor dy, const Block& block, const Range& inputs_here,
                                 float beta, float* dw) const {
  const MatrixRows rows = MatrixRows::of(block, positions_);
  const auto multiply = [&](const Range& inputs, const Range& units) {
    const float* const from = x.data() + rows.first * inputs_ + inputs.first;
    const float* const slopes = dy.data() + rows.first * outputs_ + units.first;
    float* const to = dw + weight_at(inputs.first - inputs_here.first, units.first);
    if (is_tied())
      gemm(Transpose::yes, Transpose::no, units.count(), inputs.count(), rows.count, slopes, outputs_, from,
           inputs_, beta, to, weight_row());
    else
      gemm(Transpose::yes, Transpose::no, inputs.count(), units.count(), rows.count, from, inputs_, slopes,
           outputs_, beta, to, weight_row());
  };
  if (gemm_is_chained()) return multiply(inputs_here, {0, outputs_});
  for (std::size_t i = 1; i < input_borders_.size(); ++i)
    for (std::size_t j = 1; j < unit_borders_.size(); ++j)
      multiply({input_borders_[i - 1], input_borders_[i]}, {unit_borders_[j - 1], unit_borders_[j]});
}

Shape BiasActivation::setup(const Shape& sample, Plan& plan) {
  positions_ = sample.with_last(1).size();
  if (dense_.has_bias())
    bias_ = plan.parameter(
        {.name = "bias", .shape = {dense_.units()}, .layer = dense_.name(), .is_weight = false});
  const Activation f = dense_.activation();
  if (derivative_from_input(f)) slope_ = plan.saved(sample.size());
  plan.backward_reads(false, f != Activation::none && !derivative_from_input(f));
  plan.works_in_place();
  return sample;
}

void BiasActivation::forward(ConstTensor x, Tensor y, Pass& pass) {
  const std::int64_t rows = pass.rows() * positions_;
  const float* const bias = dense_.has_bias() ? pass.value(bias_).data() : nullptr;
  if (!derivative_from_input(dense_.activation()))
    return bias_activate(dense_.activation(), rows, dense_.units(), x.data(), bias, y.data());
  float* const sum = pass.buffer(slope_).data();
  std::ranges::copy(x.span(), sum);
  activate_with_derivative(dense_.activation(), rows, dense_.units(), bias, sum, y.data());
}

void BiasActivation::backward(ConstTensor, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  multiply_by_slope(dense_.activation(), pass, slope_, y, dy);
  if (dense_.has_bias())
    for (const Block& block : pass.blocks()) {
      const MatrixRows rows = MatrixRows::of(block, positions_);
      column_sums(rows.count, dense_.units(), dy.data() + rows.first * dense_.units(), false,
                  pass.gradient(bias_, block).data());
    }
  if (!dx.empty() && dx.data() != dy.data()) std::ranges::copy(dy.span(), dx.data());
}

namespace {

const Registry<Layer>::Add registered{
    {.name = "dense",
     .help = "every output from all inputs: x W + b; a map is taken in the order channels, height, width",
     .primary = "units",
     .settings =
         {integer("units", "how many outputs").at_least(1).at_most(1e9).optional().exclusive_with("expand"),
          integer("expand", "so many times as many outputs as inputs")
              .at_least(1)
              .at_most(1e6)
              .optional()
              .exclusive_with("units"),
          boolean("bias", "add a bias to each output").fallback("true"), activation_setting(),
          text("tie",
               "name of a layer before this one whose weight it uses the other way round, such as an "
               "embedding")
              .optional()}},
    [](const Config& config) { return std::make_unique<Dense>(config); }};

}  // namespace
}  // namespace trainer
