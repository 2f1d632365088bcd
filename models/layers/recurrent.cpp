// rnn, lstm and gru: levels and directions of cells along a sequence. The rows of a virtual worker lie by
// time step, so that the products with inputs are one for all steps, and those with the recurrent state have
// contiguous rows.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "engine/math/shared_factor.h"
#include "models/layers/activation_setting.h"
#include "models/layers/kept_state.h"
#include "models/layers/layer.h"
#include "models/layers/linear.h"
#include "models/layers/recurrent_cell.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// Between (outer, inner, width) and (inner, outer, width).
void swap_outer(std::int64_t outer, std::int64_t inner, std::int64_t width, const float* x, float* y) {
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      std::copy_n(x + (o * inner + i) * width, width, y + (i * outer + o) * width);
}

/// Where the rows of a virtual worker begin in a buffer.
float* part(Buffer<> id, const VirtualWorker& worker, const Pass& pass) {
  return pass.buffer(id).data() + worker.first * id.per_row;
}

/// One layer of a stack in one direction.
struct Direction {
  bool reversed = false;
  std::int64_t inputs = 0;
  Linear input_product;
  ParameterId weight_hh, bias_ih, bias_hh;
  Buffer<> gates, recurrent, cell, bent_cell;

  /// The position of the sequence in step s of `steps`.
  std::int64_t time(std::int64_t s, std::int64_t steps) const { return reversed ? steps - 1 - s : s; }
};

/// A stack of recurrent levels in one or two directions: (T, C) -> (T, directions units), or the last output
/// alone, (directions units). Rnn: Elman 1990; lstm: Hochreiter and Schmidhuber 1997; gru: Cho et al. 2014.
class Recurrent final : public Layer {
 public:
  Recurrent(const Config& config, std::unique_ptr<Cell> cell)
      : config_(config),
        cell_(std::move(cell)),
        units_(config.get<std::int64_t>("units")),
        layers_(config.get<std::int64_t>("layers")),
        directions_(config.get<bool>("bidirectional") ? 2 : 1),
        has_bias_(config.get<bool>("bias")),
        gives_last_(config.get<std::string>("output") == "last"),
        truncate_(config.has("truncate") ? config.get<std::int64_t>("truncate") : 0) {
    if (!config.get<bool>("keep_state")) return;
    if (directions_ > 1) config.fail("keep_state", "the backward direction has no state to resume from");
    kept_.emplace(layers_, units_, cell_->has_memory() ? 2 : 1);
  }

  Shape setup(const Shape& sample, Plan& plan) override {
    if (sample.rank() != 2)
      fail_to_fit(config_, plan, sample, "it requires a sequence of vectors",
                  "`embedding` makes one of tokens");
    steps_ = sample[0];
    inputs_ = sample[1];
    const std::int64_t width = Shape{directions_, units_}.size();
    const std::int64_t gate_units = gate_width();
    for (std::int64_t level = 0; level < layers_; ++level) {
      for (std::int64_t d = 0; d < directions_; ++d) {
        stack_.push_back(set_up(level, d == 1, level == 0 ? inputs_ : width, plan));
        flops_ += Plan::flops({steps_, stack_.back().inputs + units_, gate_units});
      }
      outputs_.push_back(plan.activation(Shape{steps_, width}.size()));
    }
    x_by_time_ = plan.activation(Shape{steps_, inputs_}.size());
    const std::int64_t widest = std::max(width, inputs_);
    // A state is not kept between batches where it is carried from pass to pass.
    is_stepwise_ = plan.is_stepwise();
    if (is_stepwise_) {
      kept_.reset();
      carried_ = plan.carried(Shape{layers_, 2, units_}.size());
    }
    for (Buffer<>& gradient : gradients_) gradient = plan.scratch(Shape{steps_, widest}.size());
    zeros_ = plan.scratch(units_);
    dcell_ = plan.scratch(units_);
    biases_ = plan.scratch(0, 2 * gate_units);
    factor_ = plan.scratch(0, Shape{gate_units, units_}.size());
    if (kept_) kept_->setup(plan);
    plan.backward_reads(false, false);
    return gives_last_ ? Shape{width} : Shape{steps_, width};
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const std::int64_t steps = steps_of(pass);
    for (const VirtualWorker& worker : sequences_of(pass)) {
      if (worker.count == 0) continue;
      if (kept_) kept_->begin(worker, pass);
      float* const x_by_time = part(x_by_time_, worker, pass);
      swap_outer(worker.count, steps, inputs_, x.data() + worker.first * steps * inputs_, x_by_time);
      std::ranges::fill(pass.buffer(zeros_).rows(0, worker.count).span(), 0.0f);
      const float* input = x_by_time;
      for (std::int64_t level = 0; level < layers_; ++level) {
        for (std::int64_t d = 0; d < directions_; ++d) run(level, d, input, worker, pass);
        input = part(outputs_[index(level)], worker, pass);
      }
      give(worker, input, y, pass);
    }
    if (kept_) keep_state(pass);
    if (is_stepwise_) carry_state(pass);
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      float* dh = pass.buffer(gradients_[0]).data();
      float* below = pass.buffer(gradients_[1]).data();
      take(worker, dy, dh, pass);
      for (std::int64_t level = layers_; level-- > 0;) {
        const bool needed = level > 0 || !dx.empty();
        const float* const input = part(level > 0 ? outputs_[index(level - 1)] : x_by_time_, worker, pass);
        for (std::int64_t d = 0; d < directions_; ++d) {
          run_back(level, d, input, dh, worker, pass);
          if (needed && worker.count > 0) {
            const Direction& direction = at(level, d);
            direction.input_product.backward_lines(steps_ * worker.count, part(direction.gates, worker, pass),
                                                   d > 0, below, pass);
          }
        }
        std::swap(dh, below);
      }
      if (!dx.empty())
        swap_outer(steps_, worker.count, inputs_, dh, dx.data() + worker.first * steps_ * inputs_);
    }
  }

  std::int64_t flops() const override { return flops_; }
  bool is_stepwise() const override { return directions_ == 1 && !gives_last_; }
  bool separates_documents() const override { return false; }

  /// From a state of zeros also if `keep_state` is set.
  Value trace(Value x, Tracer& tracer) const override {
    if (directions_ > 1 || gives_last_) tracer.require_no_padding();
    Graph& graph = tracer.graph;
    x = transpose(graph, x, {1, 0, 2});
    for (std::int64_t level = 0; level < layers_; ++level) x = trace_level(level, x, tracer);
    if (!gives_last_) return transpose(graph, x, {1, 0, 2});
    // The last output of each direction.
    std::vector<Value> last;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const std::int64_t at = d == 0 ? steps_ - 1 : 0;
      const Value of_time = slice(graph, x, 0, at, at + 1);
      last.push_back(directions_ == 1 ? of_time : slice(graph, of_time, 2, d * units_, (d + 1) * units_));
    }
    return reshape(graph, last.size() == 1 ? last.front() : concatenate(graph, last, 2), {kBatch, width()});
  }

 private:
  /// (T, N, inputs) -> (T, N, directions units)
  Value trace_level(std::int64_t level, Value x, Tracer& tracer) const {
    const CellOperation cell = cell_->operation(directions_);
    std::vector<float> input_weights, weights, biases;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const Direction& direction = at(level, d);
      const auto append = [&](std::vector<float>& to, ParameterId id) {
        const std::vector<float> values = tracer.values(id);
        const auto gate = std::ssize(values) / cell_->gates();
        for (const std::int64_t from : cell.gates)
          to.insert(to.end(), values.begin() + from * gate, values.begin() + (from + 1) * gate);
      };
      append(input_weights, direction.input_product.weight());
      append(weights, direction.weight_hh);
      if (!has_bias_) continue;
      append(biases, direction.bias_ih);
      append(biases, direction.bias_hh);
    }
    Graph& graph = tracer.graph;
    const auto constant = [&](const char* name, Extents extents, std::vector<float> values) {
      extents.insert(extents.begin(), directions_);
      return graph.constant(fmt::format("{}_l{}", name, level), std::move(extents), std::move(values));
    };
    std::vector<Value> inputs{x, constant("W", {gate_width(), at(level, 0).inputs}, std::move(input_weights)),
                              constant("R", {gate_width(), units_}, std::move(weights))};
    if (has_bias_) inputs.push_back(constant("B", {2 * gate_width()}, std::move(biases)));
    Attributes attributes = cell.attributes;
    attributes["hidden_size"] = units_;
    attributes["direction"] = std::string(directions_ == 2 ? "bidirectional" : "forward");
    const Value y =
        graph.add(cell.name, std::move(inputs), {steps_, directions_, kBatch, units_}, std::move(attributes));
    return reshape(graph, transpose(graph, y, {0, 2, 1, 3}), {steps_, kBatch, width()});
  }

  /// Where rows are positions, all of them are one sequence.
  std::int64_t steps_of(const Pass& pass) const { return is_stepwise_ ? pass.rows() : steps_; }
  std::span<const VirtualWorker> sequences_of(const Pass& pass) const {
    static constexpr VirtualWorker kOneSequence{.first = 0, .count = 1};
    return is_stepwise_ ? std::span(&kOneSequence, 1) : pass.virtual_workers();
  }
  static std::size_t index(std::int64_t number) { return static_cast<std::size_t>(number); }
  std::int64_t gate_width() const { return cell_->gates() * units_; }
  std::int64_t width() const { return directions_ * units_; }
  const Direction& at(std::int64_t level, std::int64_t d) const {
    return stack_[index(level * directions_ + d)];
  }
  Direction set_up(std::int64_t level, bool reversed, std::int64_t inputs, Plan& plan) const {
    const std::string suffix = fmt::format("_l{}{}", level, reversed ? "_reverse" : "");
    const std::int64_t gates = gate_width();
    const auto weight = [&](const char* name, std::int64_t from) {
      return plan.parameter(Linear::weight({steps_, from, gates}, name + suffix));
    };
    const auto bias = [&](const char* name) {
      return has_bias_ ? plan.parameter(Linear::bias(gates, name + suffix)) : ParameterId{};
    };
    const std::int64_t along = Shape{steps_, gates}.size();
    Direction direction{.reversed = reversed, .inputs = inputs};
    direction.input_product = Linear({steps_, inputs, gates}, weight("weight_ih", inputs), {});
    direction.weight_hh = weight("weight_hh", units_);
    direction.bias_ih = bias("bias_ih");
    direction.bias_hh = bias("bias_hh");
    direction.gates = plan.activation(along);
    if (cell_->keeps_recurrent_apart()) direction.recurrent = plan.activation(along);
    if (cell_->has_memory()) {
      direction.cell = plan.activation(steps_ * units_);
      direction.bent_cell = plan.activation(steps_ * units_);
    }
    return direction;
  }

  /// Both biases; their sum where the cell adds both products.
  float* load_biases(const Direction& direction, const Pass& pass) const {
    const Tensor biases = pass.buffer(biases_);
    if (!has_bias_) {
      std::ranges::fill(biases.span(), 0.0f);
      return biases.data();
    }
    const auto width = gate_width();
    const float *const input = pass.value(direction.bias_ih).data(), *const recurrent =
                                                                         pass.value(direction.bias_hh).data();
    std::copy_n(recurrent, width, biases.data() + width);
    if (cell_->keeps_recurrent_apart())
      std::copy_n(input, width, biases.data());
    else
      add(width, input, recurrent, biases.data());
    return biases.data();
  }

  CellStep cell_step(std::int64_t level, std::int64_t d, std::int64_t s, const VirtualWorker& worker,
                     const Pass& pass) const {
    const Direction& direction = at(level, d);
    const std::int64_t rows = worker.count, time = direction.time(s, steps_of(pass));
    const auto by_time = [&](Buffer<> id, std::int64_t t, std::int64_t width) {
      return part(id, worker, pass) + t * rows * width;
    };
    CellStep step{.rows = rows, .units = units_, .step = width()};
    step.gates = by_time(direction.gates, time, gate_width());
    if (cell_->keeps_recurrent_apart()) step.recurrent = by_time(direction.recurrent, time, gate_width());
    const auto at_begin = [&](std::int64_t kind) -> const float* {
      if (is_stepwise_ && pass.position(0, 0) > 0) return carried(level, kind, pass);
      return kept_ ? kept_->at_begin(level, kind, worker, pass) : pass.buffer(zeros_).data();
    };
    const std::int64_t before = s > 0 ? direction.time(s - 1, steps_of(pass)) : 0;
    if (cell_->has_memory()) {
      step.cell = by_time(direction.cell, time, units_);
      step.bent_cell = by_time(direction.bent_cell, time, units_);
      step.cell_before = s > 0 ? by_time(direction.cell, before, units_) : at_begin(1);
    }
    step.h_before = s > 0 ? by_time(outputs_[index(level)], before, width()) + d * units_ : at_begin(0);
    step.h_before_step = s > 0 ? width() : units_;
    return step;
  }

  void run(std::int64_t level, std::int64_t d, const float* input, const VirtualWorker& worker,
           const Pass& pass) const {
    const Direction& direction = at(level, d);
    const std::int64_t steps = steps_of(pass);
    direction.input_product.forward_lines(steps * worker.count, input, part(direction.gates, worker, pass),
                                          pass);
    const float* const biases = load_biases(direction, pass);
    const bool apart = cell_->keeps_recurrent_apart();
    const float* const weight_hh = pass.value(direction.weight_hh).data();
    std::optional<SharedFactor> shared;  // by several steps
    if (steps > 1)
      shared.emplace(Transpose::no, units_, gate_width(), weight_hh, gate_width(),
                     pass.buffer(factor_).data());
    const auto add_product = [&](const CellStep& step, float beta, float* to) {
      if (shared)
        shared->multiply(worker.count, step.h_before, step.h_before_step, beta, to, gate_width());
      else
        gemm(Transpose::no, Transpose::no, worker.count, gate_width(), units_, step.h_before,
             step.h_before_step, weight_hh, gate_width(), beta, to, gate_width());
    };
    const bool begins_at_zero = !kept_ && pass.position(0, 0) == 0;
    for (std::int64_t s = 0; s < steps; ++s) {
      CellStep step = cell_step(level, d, s, worker, pass);
      step.bias = biases;
      step.recurrent_bias = biases + gate_width();
      if (s > 0 || !begins_at_zero)
        add_product(step, apart ? 0.0f : 1.0f, apart ? step.recurrent : step.gates);
      else if (apart)
        std::fill_n(step.recurrent, worker.count * gate_width(), 0.0f);
      float* const h = part(outputs_[index(level)], worker, pass) +
                       direction.time(s, steps) * worker.count * width() + d * units_;
      cell_->forward(step, h);
      clear_ended(direction.time(s, steps), worker, h, step.cell, pass);
    }
  }

  /// Zeros for rows that are padding at this time step, so that the backward direction begins at their end.
  /// `h` and `cell` may be gradients.
  void clear_ended(std::int64_t time, const VirtualWorker& worker, float* h, float* cell,
                   const Pass& pass) const {
    if (!pass.has_lengths()) return;
    for (std::int64_t row = 0; row < worker.count; ++row) {
      if (time < pass.length(worker.first + row, steps_)) continue;
      std::fill_n(h + row * width(), units_, 0.0f);
      if (cell) std::fill_n(cell + row * units_, units_, 0.0f);
    }
  }

  /// Back-propagation through time: from the gradient of a level's outputs, dh (steps, rows, width), to those
  /// of a direction's gates and parameters.
  void run_back(std::int64_t level, std::int64_t d, const float* input, float* dh,
                const VirtualWorker& worker, const Pass& pass) const {
    const Direction& direction = at(level, d);
    const std::int64_t rows = worker.count, gates = gate_width();
    const SharedFactor weight_hh(Transpose::yes, gates, units_, pass.value(direction.weight_hh).data(), gates,
                                 pass.buffer(factor_).data());
    float* const dcell = pass.buffer(dcell_).data();
    std::fill_n(dcell, rows * units_, 0.0f);
    std::fill_n(pass.buffer(zeros_).data(), rows * units_, 0.0f);
    for (std::int64_t s = rows > 0 ? steps_ : 0; s-- > 0;) {
      const CellStep step = cell_step(level, d, s, worker, pass);
      const auto dh_at = [&](std::int64_t number) {
        return dh + direction.time(number, steps_) * rows * width() + d * units_;
      };
      const bool carries = s > 0 && (truncate_ == 0 || s % truncate_ != 0);
      float* const before = carries ? dh_at(s - 1) : nullptr;
      clear_ended(direction.time(s, steps_), worker, dh_at(s), dcell, pass);
      cell_->backward(step, dh_at(s), dcell, before);
      if (carries)
        weight_hh.multiply(rows, cell_->keeps_recurrent_apart() ? step.recurrent : step.gates, gates, 1,
                           before, width());
      else
        std::fill_n(dcell, rows * units_, 0.0f);
    }
    backward_parameters(level, d, input, worker, pass);
  }

  void backward_parameters(std::int64_t level, std::int64_t d, const float* input,
                           const VirtualWorker& worker, const Pass& pass) const {
    const Direction& direction = at(level, d);
    const std::int64_t rows = worker.count, gates = gate_width();
    const float* const by_input = part(direction.gates, worker, pass);
    const float* const by_recurrent =
        cell_->keeps_recurrent_apart() ? part(direction.recurrent, worker, pass) : by_input;
    direction.input_product.weight_gradient_of_lines(steps_ * rows, input, by_input, worker, pass);
    // Every output but the last in this direction enters the gates one step later.
    const std::int64_t later = rows * gates, earlier = rows * width();
    const float* const h = part(outputs_[index(level)], worker, pass) + d * units_;
    gemm(Transpose::yes, Transpose::no, units_, gates, (steps_ - 1) * rows,
         h + (direction.reversed ? earlier : 0), width(), by_recurrent + (direction.reversed ? 0 : later),
         gates, 0, pass.gradient(direction.weight_hh, worker).data(), gates);
    if (kept_ && rows > 0)
      gemm(Transpose::yes, Transpose::no, units_, gates, rows, kept_->at_begin(level, 0, worker, pass),
           units_, by_recurrent, gates, 1, pass.gradient(direction.weight_hh, worker).data(), gates);
    if (!has_bias_) return;
    const Tensor bias = pass.gradient(direction.bias_ih, worker);
    column_sums(steps_ * rows, gates, by_input, false, bias.data());
    const Tensor recurrent_bias = pass.gradient(direction.bias_hh, worker);
    if (cell_->keeps_recurrent_apart())
      column_sums(steps_ * rows, gates, by_recurrent, false, recurrent_bias.data());
    else
      std::ranges::copy(bias.span(), recurrent_bias.data());
  }

  /// Stores the state of all rows at the end of their sequences.
  void keep_state(Pass& pass) const {
    kept_->keep(pass,
                [&](const VirtualWorker& worker, std::int64_t row, std::int64_t level, std::int64_t kind) {
                  const Buffer<> id = kind > 0 ? at(level, 0).cell : outputs_[index(level)];
                  return part(id, worker, pass) + ((steps_ - 1) * worker.count + row) * units_;
                });
  }

  /// The state behind the last position, where rows are positions.
  void carry_state(const Pass& pass) const {
    const std::int64_t last = (pass.rows() - 1) * units_;
    for (std::int64_t level = 0; level < layers_; ++level) {
      std::copy_n(pass.buffer(outputs_[index(level)]).data() + last, units_, carried(level, 0, pass));
      if (cell_->has_memory())
        std::copy_n(pass.buffer(at(level, 0).cell).data() + last, units_, carried(level, 1, pass));
    }
  }
  float* carried(std::int64_t level, std::int64_t kind, const Pass& pass) const {
    return pass.buffer(carried_).data() + (level * 2 + kind) * units_;
  }

  /// The outputs of the last level, by time, to y.
  void give(const VirtualWorker& worker, const float* outputs, Tensor y, const Pass& pass) const {
    const std::int64_t rows = worker.count;
    const std::int64_t steps = steps_of(pass);
    if (!gives_last_)
      return swap_outer(steps, rows, width(), outputs, y.data() + worker.first * steps * width());
    for_each_last(worker, pass, [&](std::int64_t by_time, std::int64_t at) {
      std::copy_n(outputs + by_time, units_, y.data() + worker.first * width() + at);
    });
  }

  /// The gradient of those outputs from dy.
  void take(const VirtualWorker& worker, Tensor dy, float* dh, const Pass& pass) const {
    const std::int64_t rows = worker.count;
    if (!gives_last_)
      return swap_outer(rows, steps_, width(), dy.data() + worker.first * steps_ * width(), dh);
    std::fill_n(dh, steps_ * rows * width(), 0.0f);
    for_each_last(worker, pass, [&](std::int64_t by_time, std::int64_t at) {
      std::copy_n(dy.data() + worker.first * width() + at, units_, dh + by_time);
    });
  }

  /// visit(place in outputs by time, place in y) for the last output of each direction.
  template <class Visit>
  void for_each_last(const VirtualWorker& worker, const Pass& pass, Visit visit) const {
    for (std::int64_t d = 0; d < directions_; ++d)
      for (std::int64_t row = 0; row < worker.count; ++row) {
        const std::int64_t last = d > 0 ? 0 : pass.length(worker.first + row, steps_) - 1;
        visit((last * worker.count + row) * width() + d * units_, row * width() + d * units_);
      }
  }

  Config config_;
  std::unique_ptr<Cell> cell_;
  std::int64_t units_, layers_, directions_;
  bool has_bias_, gives_last_;
  std::int64_t truncate_;  // 0: never
  std::optional<KeptState> kept_;
  bool is_stepwise_ = false;
  std::int64_t steps_ = 0, inputs_ = 0, flops_ = 0;
  std::vector<Direction> stack_;   // by level, then direction
  std::vector<Buffer<>> outputs_;  // of each level: (steps, rows, width)
  Buffer<> x_by_time_, carried_;
  Buffer<> gradients_[2], zeros_, dcell_, biases_, factor_;
};

std::vector<Setting> settings_of(std::vector<Setting> more = {}) {
  std::vector<Setting> settings{
      integer("units", "number of outputs of a direction").at_least(1).at_most(1e6),
      integer("layers", "number of stacked layers").at_least(1).at_most(1000).fallback("1"),
      boolean("bidirectional", "add a backward direction, whose outputs are concatenated").fallback("false"),
      boolean("bias", "add biases to the gates").fallback("true"),
      choice("output", "the outputs of all positions, or the last one", {"sequence", "last"})
          .fallback("sequence"),
      integer("truncate", "truncated back-propagation: gradients stop at multiples of so many steps")
          .at_least(1)
          .at_most(1e6)
          .optional(),
      boolean(
          "keep_state",
          "carry the state of a row from batch to batch while its samples are consecutive; gradients stay "
          "within a batch; requires data.streams; not with bidirectional, accumulate, crosscheck, local "
          "or async")
          .fallback("false")};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

const Registry<Layer>::Add rnn_layer{
    {.name = "rnn",
     .help = "Elman recurrent layer: h(t) = f(x(t) W + h(t-1) U + b)",
     .primary = "units",
     .settings = settings_of(
         {choice("activation", "the activation f", {"tanh", "relu", "sigmoid"}).fallback("tanh")})},
    [](const Config& config) {
      return std::make_unique<Recurrent>(config, make_rnn_cell(activation_of(config)));
    }};

const Registry<Layer>::Add lstm_layer{
    {.name = "lstm",
     .help = "long short-term memory (Hochreiter and Schmidhuber 1997)",
     .primary = "units",
     .settings = settings_of()},
    [](const Config& config) { return std::make_unique<Recurrent>(config, make_lstm_cell()); }};

const Registry<Layer>::Add gru_layer{
    {.name = "gru",
     .help = "gated recurrent units (Cho et al. 2014)",
     .primary = "units",
     .settings = settings_of()},
    [](const Config& config) { return std::make_unique<Recurrent>(config, make_gru_cell()); }};

}  // namespace
}  // namespace trainer
