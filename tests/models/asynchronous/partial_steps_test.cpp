// Shares of a step are held to the whole one, and a delay to a quadratic function.
#include "models/asynchronous/partial_steps.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/models/optimizers/built_optimizer.h"

namespace trainer {
namespace {

constexpr std::size_t kCount = 1300;  // several pieces
constexpr float kRate = 0.1f;

/// A parameter, its gradient and its states.
struct Parameters {
  explicit Parameters(std::size_t its_states) : states(its_states, std::vector<float>(kCount, 0.5f)) {
    for (std::size_t i = 0; i < kCount; ++i) {
      values.push_back(1 + static_cast<float>(i % 7));
      gradients.push_back(static_cast<float>(i % 11) - 4.5f);
    }
  }
  Segment segment() {
    Segment segment{.values = values, .gradients = gradients};
    for (std::size_t i = 0; i < states.size(); ++i) segment.states[i] = states[i];
    return segment;
  }
  void step(Optimizer& optimizer, float rate = kRate) {
    const Segment all = segment();
    optimizer.step({&all, 1}, rate, 3);
  }
  std::vector<float> values, gradients;
  std::vector<std::vector<float>> states;
};

void check_part(const std::vector<float>& part, const std::vector<float>& before,
                const std::vector<float>& whole, double share) {
  for (std::size_t i = 0; i < part.size(); ++i)
    REQUIRE(static_cast<double>(part[i] - before[i]) ==
            Approx(share * static_cast<double>(whole[i] - before[i])).margin(1e-5));
}

/// Descends x^2 curvature / 2 by N workers in turns, each of whose gradients is N - 1 updates old. Returns
/// |x| at the end.
double descend(const std::string& yaml, float curvature, int workers, bool in_parts) {
  BuiltOptimizer built(yaml);
  PartialSteps parts(*built.optimizer);
  const float share = 1 / static_cast<float>(workers);
  parts.set_share(share);
  float x = 1, velocity = 0;
  std::vector<float> seen(static_cast<std::size_t>(workers), x);
  for (int update = 0; update < 200 * workers; ++update) {
    float& own = seen[static_cast<std::size_t>(update % workers)];
    const float gradient = curvature * own;
    Segment segment{.values = {&x, 1}, .gradients = {&gradient, 1}};
    segment.states[0] = {&velocity, 1};
    if (in_parts)
      parts.step({&segment, 1}, 1, update / workers);
    else
      built.optimizer->step({&segment, 1}, share, update);
    own = x;
    if (in_parts)
      parts.look_ahead(segment, 1, update / workers, static_cast<float>(workers - 1) * share, {&own, 1});
  }
  return std::abs(static_cast<double>(x));
}

const std::string kMomentum = "sgd: {lr: 1, momentum: 0.9}";

}  // namespace

TEST_CASE("a share of a step takes this share of its change in values and states", "[async]") {
  const std::string yaml = GENERATE(as<std::string>(), "sgd: {lr: 1}", kMomentum,
                                    "sgd: {lr: 1, momentum: 0.9, nesterov: true, weight_decay: 0.1}",
                                    "adamw: {lr: 1}", "rmsprop: {lr: 1, momentum: 0.5}");
  INFO(yaml);
  BuiltOptimizer built(yaml);
  const std::size_t states = built.optimizer->states().size();
  const Parameters before(states);
  Parameters whole(states), part(states);
  PartialSteps parts(*built.optimizer);
  const float share = GENERATE(1.0f, 0.25f);
  parts.set_share(share);
  whole.step(*built.optimizer);
  part.step(parts);
  check_part(part.values, before.values, whole.values, static_cast<double>(share));
  for (std::size_t i = 0; i < states; ++i)
    check_part(part.states[i], before.states[i], whole.states[i], static_cast<double>(share));
  if (share < 1) return;
  CHECK(part.values == whole.values);
  CHECK(part.states == whole.states);
}

TEST_CASE("looking ahead moves values by what the velocity does in so many steps, and changes nothing else",
          "[async]") {
  BuiltOptimizer built(kMomentum);
  PartialSteps parts(*built.optimizer);
  Parameters parameters(1);
  const Parameters before = parameters;
  std::vector<float> ahead(kCount);
  const float steps = GENERATE(0.0f, 0.75f, 2.0f);
  Segment segment = parameters.segment();
  segment.rate = GENERATE(0.0f, 1.0f, 2.0f);
  parts.look_ahead(segment, kRate, 3, steps, ahead);
  for (std::size_t i = 0; i < kCount; ++i)
    REQUIRE(ahead[i] == Approx(before.values[i] - steps * segment.rate * kRate * 0.9f * 0.5f));
  CHECK(parameters.values == before.values);
  CHECK(parameters.states == before.states);
}

TEST_CASE("muon takes a share of its rate, and workers get its values as they are", "[async]") {
  BuiltOptimizer built("muon: {others: {sgd: {lr: 0.02, momentum: 0.9}}}");
  PartialSteps parts(*built.optimizer);
  parts.set_share(0.25f);
  Parameters whole(1), part(1);
  whole.step(*built.optimizer, kRate * 0.25f);
  part.step(parts);
  CHECK(part.values == whole.values);
  CHECK(part.states == whole.states);
  std::vector<float> ahead(kCount);
  parts.look_ahead(part.segment(), kRate, 3, 1, ahead);
  CHECK(ahead == part.values);
}

TEST_CASE(
    "with momentum a delay by the other workers is stable at the rate of which it diverges in plain "
    "steps",
    "[async]") {
  const int workers = GENERATE(2, 4, 8);
  // A synchronous run is stable up to a curvature of 3.8.
  CHECK(descend(kMomentum, 0.5f, workers, true) < 1e-6);
  CHECK_FALSE(descend(kMomentum, 0.5f, workers, false) < 1e6);
}

}  // namespace trainer
