#include <catch2/catch.hpp>

#include "tests/models/optimizers/built_optimizer.h"

namespace trainer {
namespace {

TEST_CASE("decay: weights spares biases and norms", "[optimizers]") {
  std::vector<float> weight{1}, bias{1};
  const std::vector<float> gradient{0};
  const std::vector<Segment> segments{{.values = weight, .gradients = gradient, .is_weight = true},
                                      {.values = bias, .gradients = gradient, .is_weight = false}};
  BuiltOptimizer("sgd: {lr: 1, weight_decay: 0.5, decay: weights}").optimizer->step(segments, 1, 0);
  CHECK(weight[0] == 0.5f);
  CHECK(bias[0] == 1);
  BuiltOptimizer("sgd: {lr: 1, weight_decay: 0.5}").optimizer->step(segments, 1, 0);
  CHECK(weight[0] == 0.25f);
  CHECK(bias[0] == 0.5f);
}

TEST_CASE("decay: independent takes as much of a parameter whatever the factor of its layer",
          "[optimizers]") {
  const BuiltOptimizer built("sgd: {lr: 1, weight_decay: 0.5, decay: independent}");
  const std::vector<float> gradient{0};
  for (const float factor : {0.25f, 1.0f, 4.0f}) {
    std::vector<float> bias{1};
    const Segment segment{.values = bias, .gradients = gradient, .is_weight = false, .rate = factor};
    built.optimizer->step(std::span(&segment, 1), factor, 0);
    CHECK(bias[0] == 0.5f);
  }
}

TEST_CASE("the rate is the caller's, the configured one only where schedules begin", "[optimizers]") {
  std::vector<float> weight{1};
  const std::vector<float> gradient{1};
  const Segment segment{.values = weight, .gradients = gradient};
  const BuiltOptimizer built("sgd: {lr: 0.5}");
  CHECK(built.optimizer->rate() == 0.5);
  built.optimizer->step(std::span(&segment, 1), 0.25f, 0);
  CHECK(weight[0] == 0.75f);
}

TEST_CASE("without momentum there is no state", "[optimizers]") {
  CHECK(BuiltOptimizer("sgd: {lr: 0.1}").optimizer->states().empty());
  CHECK(BuiltOptimizer("sgd: {lr: 0.1, momentum: 0.9}").optimizer->states() ==
        std::vector<std::string>{"momentum"});
}

TEST_CASE("momentum_rise raises momentum in a straight line between two moments", "[optimizers]") {
  const BuiltOptimizer built(
      "sgd: {lr: 1, momentum: 0.5, momentum_rise: {to: 0.75, begin: {steps: 2}, end: {epochs: 1}}}");
  CHECK(built.optimizer->text() == "sgd lr 1 momentum 0.5 to 0.75");
  built.optimizer->begin(6);
  const std::vector<float> gradient{0};
  const auto momentum_at = [&](std::int64_t step) {
    std::vector<float> value{0}, velocity{1};
    const Segment segment{.values = value, .gradients = gradient, .states = {velocity}};
    built.optimizer->step(std::span(&segment, 1), 1, step);
    return velocity[0];
  };
  CHECK(momentum_at(0) == 0.5f);
  CHECK(momentum_at(2) == 0.5f);
  CHECK(momentum_at(4) == 0.625f);
  CHECK(momentum_at(6) == 0.75f);
  CHECK(momentum_at(100) == 0.75f);
  CHECK_THROWS_WITH(BuiltOptimizer("sgd: {lr: 1, momentum: 0.9, momentum_rise: {to: 0.5, end: {steps: 9}}}"),
                    Catch::Contains("momentum rises from 0.9 to 0.5"));
}

TEST_CASE("sgd describes itself in the header's words", "[optimizers]") {
  CHECK(BuiltOptimizer("sgd: {lr: 0.05, momentum: 0.9}").optimizer->text() == "sgd lr 0.05 momentum 0.9");
  CHECK(BuiltOptimizer("sgd: {lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 1.0e-4}")
            .optimizer->text() == "sgd lr 0.1 nesterov momentum 0.9 weight decay 0.0001");
}

TEST_CASE("settings of sgd that make no sense are errors", "[optimizers]") {
  CHECK_THROWS_WITH(BuiltOptimizer("sgd: {momentum: 0.9}"), Catch::Contains("lr"));
  CHECK_THROWS_WITH(BuiltOptimizer("sgd: {lr: -1}"), Catch::Contains("lr"));
  CHECK_THROWS_WITH(BuiltOptimizer("sgd: {lr: 0.1, momentum: 1}"), Catch::Contains("momentum"));
  CHECK_THROWS_WITH(BuiltOptimizer("sgd: {lr: 0.1, nesterov: true}"), Catch::Contains("momentum"));
}

}  // namespace
}  // namespace trainer
