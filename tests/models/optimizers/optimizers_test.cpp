// What holds for all optimizers; golden files hold their results.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/models/optimizers/built_optimizer.h"

namespace trainer {
namespace {

/// One value after some steps along a constant gradient.
float after_steps(const BuiltOptimizer& built, int steps, float constant, bool is_weight) {
  std::vector<float> value{1};
  std::vector<std::vector<float>> states(built.optimizer->states().size(),
                                         std::vector<float>(1, built.optimizer->initial()));
  std::vector<float> gradient{constant};
  Segment segment{.values = value, .gradients = gradient, .is_weight = is_weight, .direction = gradient};
  std::ranges::copy(states, segment.states.begin());
  for (int step = 0; step < steps; ++step) {
    gradient[0] = constant;
    built.optimizer->find_directions(std::span(&segment, 1), step);
    segment.value_norm = std::fabs(value[0]);
    segment.direction_norm = std::fabs(gradient[0]);
    built.optimizer->step(std::span(&segment, 1), static_cast<float>(built.optimizer->rate()), step);
  }
  return value[0];
}

TEST_CASE("every optimizer descends", "[optimizers]") {
  const std::string name =
      GENERATE("sgd: {lr: 0.1}", "adam", "adamw: {weight_decay: 0}", "rmsprop", "adagrad", "adadelta", "lion",
               "lars: {lr: 1}", "lamb: {weight_decay: 0}", "muon: {others: {sgd: {lr: 0.1}}}");
  INFO(name);
  CHECK(after_steps(BuiltOptimizer(name), 3, 2, true) < 1);
  CHECK(after_steps(BuiltOptimizer(name), 3, -2, true) > 1);
}

TEST_CASE("decay: weights spares biases and norms, with every optimizer", "[optimizers]") {
  const std::string name = GENERATE("sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "lion", "lamb");
  INFO(name);
  const BuiltOptimizer sparing(name + ": {lr: 0.1, weight_decay: 0.5, decay: weights}");
  CHECK(after_steps(sparing, 2, 0, true) < 1);
  CHECK(after_steps(sparing, 2, 0, false) == 1);
  const BuiltOptimizer all(name + ": {lr: 0.1, weight_decay: 0.5}");
  CHECK(after_steps(all, 2, 0, false) == after_steps(sparing, 2, 0, true));
}

TEST_CASE("decay of adamw and lion is a part of the weight, whatever its gradient", "[optimizers]") {
  CHECK(after_steps(BuiltOptimizer("adamw: {lr: 0.1, weight_decay: 0.5}"), 2, 0, true) ==
        Approx(0.95 * 0.95));
  CHECK(after_steps(BuiltOptimizer("lion: {lr: 0.1, weight_decay: 0.5}"), 2, 0, true) == Approx(0.95 * 0.95));
}

TEST_CASE("lars and lamb take steps as long as the norm of the parameter, biases as `adapt` has it",
          "[optimizers]") {
  CHECK(after_steps(BuiltOptimizer("lars: {lr: 0.5, trust: 0.1}"), 1, 7, true) == Approx(0.95));
  CHECK(after_steps(BuiltOptimizer("lars: {lr: 0.01}"), 1, 7, false) == Approx(0.93));
  CHECK(after_steps(BuiltOptimizer("lars: {lr: 0.5, trust: 0.1, adapt: all}"), 1, 7, false) == Approx(0.95));
  CHECK(after_steps(BuiltOptimizer("lamb: {lr: 0.1, weight_decay: 0}"), 1, 7, false) == Approx(0.9));
}

TEST_CASE("muon leaves what is no matrix to another optimizer, at its own rate", "[optimizers]") {
  CHECK(after_steps(BuiltOptimizer("muon: {lr: 0.5, others: {sgd: {lr: 0.1}}}"), 1, 2, true) == Approx(0.8));
  using Names = std::vector<std::string>;
  CHECK(BuiltOptimizer("muon: {others: {sgd: {lr: 0.1}}}").optimizer->states() == Names{"momentum"});
  CHECK(BuiltOptimizer("muon").optimizer->states() == Names{"mean", "square"});
  CHECK(BuiltOptimizer("muon: {others: {sgd: {lr: 0.1}}}").optimizer->text() ==
        "muon lr 0.02 momentum 0.95, others sgd lr 0.1");
  CHECK_THROWS_WITH(BuiltOptimizer("muon: {others: muon}"), Catch::Contains("muon updates matrices only"));
  CHECK_THROWS_WITH(BuiltOptimizer("muon: {others: {adagrad: {initial: 0.5}}}"),
                    Catch::Contains("the states of muon start at 0"));
}

TEST_CASE("states have names only for what is kept", "[optimizers]") {
  using Names = std::vector<std::string>;
  CHECK(BuiltOptimizer("adam").optimizer->states() == Names{"mean", "square"});
  CHECK(BuiltOptimizer("rmsprop").optimizer->states() == Names{"square"});
  CHECK(BuiltOptimizer("rmsprop: {centered: true, momentum: 0.5}").optimizer->states() ==
        Names{"square", "mean", "momentum"});
}

TEST_CASE("optimizers describe themselves in the header's words", "[optimizers]") {
  CHECK(BuiltOptimizer("adam").optimizer->text() == "adam lr 0.001 betas 0.9 0.999");
  CHECK(BuiltOptimizer("adamw").optimizer->text() == "adamw lr 0.001 betas 0.9 0.999 weight decay 0.01");
  CHECK(BuiltOptimizer("rmsprop: {momentum: 0.5}").optimizer->text() ==
        "rmsprop lr 0.01 smoothing 0.99 momentum 0.5");
}

TEST_CASE("betas are two values below 1", "[optimizers]") {
  CHECK_THROWS_WITH(BuiltOptimizer("adam: {betas: [0.9]}"), Catch::Contains("betas expects two values"));
  CHECK_THROWS_WITH(BuiltOptimizer("adam: {betas: [0.9, 1]}"), Catch::Contains("beta"));
  CHECK_THROWS_WITH(BuiltOptimizer("lion: {betas: 0.9}"), Catch::Contains("betas"));
}

}  // namespace
}  // namespace trainer
