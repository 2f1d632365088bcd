#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/elementary.h"
#include "engine/core/error.h"
#include "models/losses/loss.h"

namespace trainer {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kBlank = 0;

/// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kImpossible ? larger
                               : larger + elementary::log1p(elementary::exp(std::min(a, b) - larger));
}

/// Memory of a thread, taken once.
struct Work {
  std::int64_t positions = 0;             ///< of the row at hand, without padding
  std::vector<double> log_probabilities;  ///< (positions, symbols)
  std::vector<double> before, after;      ///< (positions, states): log of what leads there, and on from there
  std::vector<std::int64_t> states;       ///< the symbols with a blank around each
  std::vector<double> shares;             ///< (symbols)
};

/// -log of the probability that the outputs spell the target, however they are stretched over the positions
/// (Graves et al. 2006, "Connectionist temporal classification").
class Ctc final : public Loss {
 public:
  explicit Ctc(const Config& config) : config_(config) {}

  void setup(const Shape& output, int classes) override {
    if (classes > 0)
      config_.fail(
          "", "ctc requires the symbols of a sample as values, the data gives classes",
          "an array (samples, longest target) of symbols from 1 on, filled up with 0; `targets: numbers`");
    if (output.rank() != 2 || output[1] < 2)
      config_.fail(
          "", fmt::format(
                  "ctc requires outputs (positions, symbols), the first symbol being the blank; the model "
                  "gives {}",
                  channels_first_text(output)));
    positions_ = output[0];
    symbols_ = output[1];
  }
  bool takes(const Shape& output, const Shape& target) const override {
    return target.rank() == 1 && target[0] <= output[0];
  }
  bool knows_lengths() const override { return true; }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    static thread_local Work work;
    const std::int64_t size = positions_ * symbols_;
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      work.positions = targets.lengths.empty() ? positions_ : targets.lengths[static_cast<std::size_t>(row)];
      find_log_probabilities(y.data() + row * size, work);
      take_target(targets.values.rows(row, 1).span(), work);
      const double log_probability = find_paths(work, !dy.empty());
      loss -= log_probability;
      if (dy.empty()) continue;
      find_gradient(work, log_probability, scale, dy.data() + row * size);
      std::ranges::fill(dy.rows(row, 1).span().subspan(static_cast<std::size_t>(work.positions * symbols_)),
                        0.0f);
    }
    return loss;
  }

 private:
  void find_log_probabilities(const float* y, Work& work) const {
    work.log_probabilities.resize(static_cast<std::size_t>(work.positions * symbols_));
    for (std::int64_t position = 0; position < work.positions; ++position) {
      const float* const outputs = y + position * symbols_;
      const double largest = *std::max_element(outputs, outputs + symbols_);
      double sum = 0;
      for (std::int64_t k = 0; k < symbols_; ++k)
        sum += elementary::exp(static_cast<double>(outputs[k]) - largest);
      const double log_of_sum = elementary::log(sum) + largest;
      for (std::int64_t k = 0; k < symbols_; ++k)
        at(work.log_probabilities, position, k, symbols_) = static_cast<double>(outputs[k]) - log_of_sum;
    }
  }

  void take_target(std::span<const float> target, Work& work) const {
    work.states.assign(1, kBlank);
    std::int64_t needed = 0;
    for (const float number : target) {
      if (number == 0) break;
      const bool is_symbol =
          number >= 1 && number < static_cast<float>(symbols_) && std::floor(number) == number;
      if (!is_symbol)
        throw Error(ExitCode::data,
                    fmt::format("ctc: a target has the symbol {}; symbols are whole numbers from 1 to {}",
                                number, symbols_ - 1));
      const auto symbol = static_cast<std::int64_t>(number);
      // Between two that are equal there must be a blank.
      const bool repeats = work.states.size() > 1 && work.states[work.states.size() - 2] == symbol;
      needed += repeats ? 2 : 1;
      work.states.push_back(symbol);
      work.states.push_back(kBlank);
    }
    if (needed > work.positions)
      throw Error(ExitCode::data, fmt::format("ctc: a target needs {} positions, and the model gives {}",
                                              needed, work.positions));
  }

  /// Gives log p(target); fills `before`, and if given `after`.
  double find_paths(Work& work, bool both) const {
    const std::int64_t states = std::ssize(work.states);
    const auto emits = [&](std::int64_t position, std::int64_t state) {
      return at(work.log_probabilities, position, work.states[static_cast<std::size_t>(state)], symbols_);
    };
    // Whether a path may leave out the blank before this state.
    const auto skips = [&](std::int64_t state) {
      const auto index = static_cast<std::size_t>(state);
      return state >= 2 && work.states[index] != kBlank && work.states[index] != work.states[index - 2];
    };
    work.before.assign(static_cast<std::size_t>(work.positions * states), kImpossible);
    for (std::int64_t state = 0; state < std::min<std::int64_t>(2, states); ++state)
      at(work.before, 0, state, states) = emits(0, state);
    for (std::int64_t position = 1; position < work.positions; ++position)
      for (std::int64_t state = 0; state < states; ++state) {
        double sum = at(work.before, position - 1, state, states);
        if (state > 0) sum = log_sum(sum, at(work.before, position - 1, state - 1, states));
        if (skips(state)) sum = log_sum(sum, at(work.before, position - 1, state - 2, states));
        at(work.before, position, state, states) = sum + emits(position, state);
      }
    double total = at(work.before, work.positions - 1, states - 1, states);
    if (states > 1) total = log_sum(total, at(work.before, work.positions - 1, states - 2, states));
    if (!both) return total;

    work.after.assign(static_cast<std::size_t>(work.positions * states), kImpossible);
    for (std::int64_t state = std::max<std::int64_t>(0, states - 2); state < states; ++state)
      at(work.after, work.positions - 1, state, states) = 0;
    for (std::int64_t position = work.positions - 2; position >= 0; --position)
      for (std::int64_t state = 0; state < states; ++state) {
        const auto on_to = [&](std::int64_t next) {
          return at(work.after, position + 1, next, states) + emits(position + 1, next);
        };
        double sum = on_to(state);
        if (state + 1 < states) sum = log_sum(sum, on_to(state + 1));
        if (state + 2 < states && skips(state + 2)) sum = log_sum(sum, on_to(state + 2));
        at(work.after, position, state, states) = sum;
      }
    return total;
  }

  /// The probability of each symbol, less the share of the target's paths that pass through it.
  void find_gradient(Work& work, double log_probability, float scale, float* dy) const {
    const std::int64_t states = std::ssize(work.states);
    for (std::int64_t position = 0; position < work.positions; ++position) {
      work.shares.assign(static_cast<std::size_t>(symbols_), 0);
      for (std::int64_t state = 0; state < states; ++state)
        work.shares[static_cast<std::size_t>(work.states[static_cast<std::size_t>(state)])] +=
            elementary::exp(at(work.before, position, state, states) +
                            at(work.after, position, state, states) - log_probability);
      for (std::int64_t k = 0; k < symbols_; ++k)
        dy[position * symbols_ + k] =
            scale * static_cast<float>(elementary::exp(at(work.log_probabilities, position, k, symbols_)) -
                                       work.shares[static_cast<std::size_t>(k)]);
    }
  }

  static double& at(std::vector<double>& table, std::int64_t row, std::int64_t column, std::int64_t columns) {
    return table[static_cast<std::size_t>(row * columns + column)];
  }

  Config config_;
  std::int64_t positions_ = 0, symbols_ = 0;
};

const Registry<Loss>::Add ctc_loss{
    {.name = "ctc",
     .help =
         "connectionist temporal classification: the outputs of all positions spell the target; output 0 is "
         "the blank; expects logits, so put no activation before it"},
    [](const Config& config) { return std::make_unique<Ctc>(config); }};

}  // namespace
}  // namespace trainer
