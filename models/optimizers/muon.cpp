#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/math/elementwise.h"
#include "engine/math/orthogonalize.h"
#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon): the momentum of a hidden matrix, made
/// orthogonal. Another optimizer updates all other parameters. Matrices lie in memory as (inputs, outputs).
class Muon final : public Optimizer {
 public:
  explicit Muon(const Config& config)
      : rate_(config.get<double>("lr")),
        momentum_(config.get<float>("momentum")),
        decay_(config.get<float>("weight_decay")),
        normalizes_(config.get<bool>("normalize")),
        iterations_(config.get<int>("iterations")) {
    const Config others = config.at("others");
    if (others.type() == config.type())
      config.fail("others", "muon updates matrices only", "`others: adamw` or `others: {sgd: {lr: 0.1}}`");
    others_ = Registry<Optimizer>::make(others);
    if (others_->initial() != 0)
      config.fail("others", "the states of muon start at 0, not at `initial`", "`initial: 0`, or `adamw`");
  }

  /// Matrices have a momentum in the place of the others' first state.
  std::vector<std::string> states() const override {
    std::vector<std::string> states = others_->states();
    if (states.empty()) states.emplace_back("momentum");
    return states;
  }
  void begin(std::int64_t steps_per_epoch) override { others_->begin(steps_per_epoch); }
  double rate() const override { return rate_; }
  std::string text() const override {
    std::string text = fmt::format("muon lr {} momentum {}", rate_, momentum_);
    if (decay_ > 0) text += fmt::format(" weight decay {}", decay_);
    return text + ", others " + others_->text();
  }
  bool requires_norms() const override { return normalizes_ || others_->requires_norms(); }
  bool finds_directions() const override { return true; }
  bool steps_states() const override { return true; }
  bool requires_matrices() const override { return true; }
  std::int64_t scratch_floats(std::int64_t rows, std::int64_t columns) const override {
    return orthogonalize_scratch(rows, columns);
  }
  bool set_momentum(double momentum) override {
    momentum_ = static_cast<float>(momentum);
    others_->set_momentum(momentum);
    return true;
  }

  void find_directions(std::span<const Segment> segments, std::int64_t step) override {
    for (const Segment& segment : segments)
      if (segment.columns > 0)
        find_direction(segment);
      else
        others_->find_directions({&segment, 1}, step);
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t step) override {
    const auto ratio = static_cast<float>(others_->rate() / rate_);
    for (const Segment& segment : segments)
      if (segment.columns > 0)
        step_matrix(segment, rate);
      else
        others_->step({&segment, 1}, rate * ratio, step);
  }

 private:
  void find_direction(const Segment& segment) const {
    const std::int64_t count = std::ssize(segment.values);
    const std::span<float> mean = segment.states[0];
    moving_average(count, momentum_, segment.gradients.data(), mean.data());
    moving_average(count, 1 - momentum_, mean.data(), segment.direction.data());  // Nesterov's form
    orthogonalize(segment.rows, segment.columns, iterations_, segment.direction.data(), segment.scratch);
    const double shape = static_cast<double>(segment.columns) / static_cast<double>(segment.rows);
    scale(count, static_cast<float>(std::sqrt(std::max(1.0, shape))), segment.direction.data(),
          segment.direction.data());
  }

  void step_matrix(const Segment& segment, float rate) const {
    const std::int64_t count = std::ssize(segment.values);
    if (normalizes_ && segment.value_norm > 0 && std::isfinite(segment.value_norm)) {
      const double length = std::sqrt(static_cast<double>(segment.columns));
      scale(count, static_cast<float>(length / segment.value_norm), segment.values.data(),
            segment.values.data());
    }
    sgd_update(count, {.rate = rate, .decay = decay_}, segment.direction.data(), nullptr,
               segment.values.data());
  }

  double rate_;
  float momentum_;
  float decay_;
  bool normalizes_;
  int iterations_;
  std::unique_ptr<Optimizer> others_;
};

const Registry<Optimizer>::Add muon_optimizer{
    {.name = "muon",
     .help = "Nesterov momentum of hidden matrices and convolution kernels, made orthogonal by "
             "Newton-Schulz iterations; another optimizer for all other parameters",
     .settings = {real("lr", "learning rate of matrices; the rate of `others` follows it in proportion")
                      .above(0)
                      .fallback("0.02"),
                  real("momentum", "decay rate of the running mean of the gradient")
                      .at_least(0)
                      .below(1)
                      .fallback("0.95"),
                  real("weight_decay",
                       "decoupled weight decay of matrices: a step multiplies them by 1 - lr x weight_decay")
                      .at_least(0)
                      .fallback("0"),
                  boolean("normalize",
                          "scale each matrix to the norm of the root of its outputs before each step")
                      .fallback("false"),
                  integer("iterations", "of Newton and Schulz; fewer leave small singular values smaller")
                      .at_least(1)
                      .at_most(20)
                      .fallback("5"),
                  family("others",
                         "the optimizer of biases, norms, embeddings and the output layer, with a learning "
                         "rate of its own",
                         "optimizer")
                      .fallback("{adamw: {lr: 3.0e-4, betas: [0.9, 0.95], epsilon: 1.0e-10, weight_decay: "
                                "0}}")}},
    [](const Config& config) { return std::make_unique<Muon>(config); }};

}  // namespace
}  // namespace trainer
