// Adapters of low rank: what trains, what stays, and what is refused.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

constexpr const char* kSteps = "optimizer: {adamw: {lr: 0.01, weight_decay: 0.1}}, evaluate: never, steps: ";

std::string layers(const std::string& of_first, const std::string& of_second) {
  return "[{dense: {units: 20, activation: tanh" + of_first +
         "}}, {residual: [batch_norm, {dense: 20}]}, {dense: "
         "{units: 10" +
         of_second + "}}]";
}

const NamedTensor& named(const Run& run, const std::string& name) {
  const auto found = std::ranges::find(run.weights(), name, &NamedTensor::name);
  REQUIRE(found != run.weights().end());
  return *found;
}

}  // namespace

TEST_CASE("new adapters change no output and no other initial weight", "[training]") {
  const auto alone = solo();
  const std::string none = "optimizer: {sgd: {lr: 1}}, steps: 0";
  const Run plain = train(*alone, {}, {layers("", ""), none});
  const Run adapted = train(*alone, {}, {layers(", lora: {rank: 3}", ", lora: {}"), none});
  CHECK(adapted.evaluation.loss == plain.evaluation.loss);
  CHECK(adapted.weights().size() == plain.weights().size() + 4);
  for (const NamedTensor& tensor : plain.weights())
    CHECK(named(adapted, tensor.name).values == tensor.values);
  const NamedTensor &drawn = named(adapted, "dense1.lora_A.weight"),
                    &zero = named(adapted, "dense1.lora_B.weight");
  CHECK(drawn.shape[0] == 3);
  CHECK(zero.shape == Shape{20, 3});
  CHECK(std::ranges::count(drawn.values, 0.0f) == 0);
  CHECK(std::ranges::count(zero.values, 0.0f) == 60);
  CHECK(named(adapted, "dense3.lora_A.weight").shape == Shape{8, 20});
}

TEST_CASE(
    "adapters train, all else stays but layers with `frozen: false` and biases beside `frozen: weights`",
    "[training]") {
  const std::string settings = GENERATE(std::string(kSteps), "clip_norm: 0.1, " + std::string(kSteps));
  const auto alone = solo();
  const std::string adapted = layers(", lora: {rank: 2, alpha: 1}", ", frozen: false");
  const Run before = train(*alone, {}, {adapted, settings + "0"});
  for (const Placement& placement : placements(test_world().size())) {
    INFO(text(placement));
    const Run after = train(test_world(), placement, {adapted, settings + "3"});
    for (std::size_t i = 0; i < after.weights().size(); ++i) {
      const std::string& name = after.weights()[i].name;
      INFO(name);
      if (name.find("running") != std::string::npos) continue;
      const bool trains = name.find("lora_") != std::string::npos || name.starts_with("dense3.");
      CHECK((squared_change(after, before, i) > 0) == trains);
    }
  }
  const std::string biased = layers(", lora: {rank: 2}, frozen: weights", "");
  const Run first = train(*alone, {}, {biased, settings + "0"}),
            last = train(*alone, {}, {biased, settings + "3"});
  for (std::size_t i = 0; i < last.weights().size(); ++i) {
    const std::string& name = last.weights()[i].name;
    INFO(name);
    if (name.find("running") != std::string::npos) continue;
    CHECK((squared_change(last, first, i) > 0) ==
          (name == "dense1.bias" || name.find("lora_") != std::string::npos));
  }
}

TEST_CASE("a factor of the learning rate is that of the layer's adapter", "[training]") {
  const auto alone = solo();
  const auto change = [&](const std::string& factor, const std::string& steps) {
    return train(*alone, {},
                 {layers(", lora: {rank: 2}" + factor, ""),
                  "optimizer: {sgd: {lr: 0.1}}, evaluate: never, steps: " + steps});
  };
  const Run before = change("", "0"), full = change("", "1"), tenth = change(", lr: x0.1", "1");
  for (std::size_t i = 0; i < full.weights().size(); ++i)
    if (full.weights()[i].name.ends_with("lora_B.weight"))
      CHECK(squared_change(tenth, before, i) == Approx(0.01 * squared_change(full, before, i)).epsilon(1e-3));
}

TEST_CASE("adapters that cannot train, or that share a weight, are errors of their key", "[training]") {
  const auto alone = solo();
  const auto error = [&](const std::string& text) {
    try {
      train(*alone, {}, {text, "optimizer: {sgd: {lr: 1}}, steps: 1"});
      return std::string("none");
    } catch (const Error& caught) {
      return caught.diagnostics().front().what;
    }
  };
  CHECK_THAT(error(layers(", lora: {rank: 2}, frozen: true", "")), Catch::Contains("do not train"));
  CHECK_THAT(error("[{dense: {units: 784, name: a}}, {dense: {units: 784, tie: a, lora: {}}}]"),
             Catch::Contains("shares a weight"));
  CHECK_THAT(error(layers(", lora: {rank: 0}", "")), Catch::Contains("rank"));
}

}  // namespace trainer
