#include "models/training/optimizer_shard.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <limits>

#include "engine/config/config_tree.h"
#include "engine/parallel/communicator.h"
#include "models/layers/nested_plan.h"
#include "tests/models/optimizers/built_optimizer.h"

namespace trainer {
namespace {

constexpr std::size_t kCount = 10000;  // of a parameter: several segments
constexpr std::int64_t kRows = 50;

/// A guarded shard of three parameters, each of several segments: two learn and one is frozen.
class Updated {
 public:
  Updated(const std::string& yaml, float average, const std::vector<float>& rates = {1.0f, 0.5f, 0.0f})
      : built_(yaml) {
    for (const float rate : rates) {
      NestedPlan nested(plan_);
      const ConfigTree layer =
          ConfigTree::member("layer", "dense: {units: 1, lr: x" + std::to_string(rate) + "}");
      const Config config = layer.root();
      nested.begin_layer(&config, "layer", "");
      plan_.parameter({.name = "weight", .shape = {kRows, kCount / kRows}, .layout = FileLayout::dense});
    }
    window_.emplace(mesh_, pool_, plan_.parameter_borders(), ParameterWindow::Options{});
    std::vector<std::string> states = built_.optimizer->states();
    owned_.emplace(plan_, *window_, pool_,
                   OptimizerShard::Options{
                       .states = states.size(),
                       .initial = built_.optimizer->initial(),
                       .ema = average,
                       .matrices = built_.optimizer->requires_matrices() ? built_.optimizer.get() : nullptr});
    for (std::size_t i = 0; i < window_->only().values().size(); ++i)
      window_->only().values()[i] = 1 + static_cast<float>(i % 7);
    if (average > 0) {
      owned_->begin_ema();
      states.push_back("average");
    }
    owned_->guard({.parameters = plan_.parameters(), .states = states, .place = "rank 0"});
  }

  std::size_t arrays() const { return 1 + built_.optimizer->states().size(); }

  void step() {
    std::ranges::fill(window_->only().gradients(0), 0.25f);
    owned_->find_directions(*built_.optimizer, steps_);
    if (built_.optimizer->requires_norms()) owned_->set_norms([](int) { return std::pair{1.0, 1.0}; });
    owned_->update(*built_.optimizer, 0.01f, steps_++);
  }

  /// Whether gradients with this one among them are finite.
  bool is_finite_with(float gradient, std::size_t place) {
    std::ranges::fill(window_->only().gradients(0), 0.25f);
    window_->only().gradients(0)[place] = gradient;
    return is_finite_magnitude(owned_->largest_gradient());
  }
  float largest_gradient() { return std::bit_cast<float>(owned_->largest_gradient()); }
  /// Flips a bit of an element of the parameter's values, or of its states.
  void flip(std::size_t parameter, std::size_t array, std::size_t element) {
    const std::int64_t first = plan_.parameters()[parameter].offset;
    if (array == 0) return flip(window_->only().values()[static_cast<std::size_t>(first) + element]);
    // States are shown to be read only.
    owned_->visit_state(array - 1, [&](std::int64_t offset, std::span<const float> part) {
      const std::int64_t place = first + static_cast<std::int64_t>(element) - offset;
      if (place >= 0 && place < std::ssize(part))
        flip(const_cast<float&>(part[static_cast<std::size_t>(place)]));
    });
  }

 private:
  static void flip(float& value) {
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U << 3);
  }

  BuiltOptimizer built_;
  std::unique_ptr<Communicator> world_ = solo();
  Mesh mesh_{*world_, {.data = 1, .model = 1}};
  ThreadPool pool_{1, true};
  NetworkPlan plan_{1};
  std::optional<ParameterWindows> window_;
  std::optional<OptimizerShard> owned_;
  std::int64_t steps_ = 0;
};

}  // namespace

TEST_CASE("a bit that flips between two updates is found by the next one, with every optimizer",
          "[training]") {
  const std::string yaml =
      GENERATE("sgd: {lr: 0.1, momentum: 0.9}", "adam", "rmsprop: {centered: true, momentum: 0.5}",
               "adagrad: {initial: 0.5}", "adadelta", "lion", "lars: {lr: 1}", "lamb", "muon",
               "muon: {normalize: true, others: {sgd: {lr: 0.1, momentum: 0.9}}}");
  const float average = GENERATE(0.0f, 0.99f);
  const std::size_t parameter = GENERATE(0u, 1u);
  const std::size_t arrays = Updated(yaml, average).arrays() + (average > 0 ? 1 : 0);
  for (std::size_t array = 0; array < arrays; ++array) {
    INFO(yaml << " average " << average << ", array " << array);
    Updated updated(yaml, average);
    for (int step = 0; step < 3; ++step) REQUIRE_NOTHROW(updated.step());
    updated.flip(parameter, array, kCount - 1);
    CHECK_THROWS_WITH(updated.step(), Catch::Contains("changed in memory without an update, after step 3"));
  }
}

TEST_CASE("a gradient that is not finite is found wherever it is, also of a frozen parameter", "[training]") {
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  const std::size_t place = GENERATE(std::size_t{0}, kCount - 1, kCount + 1000, 3 * kCount - 1);
  Updated updated("sgd: {lr: 0.1, momentum: 0.9}", 0);
  CHECK(updated.is_finite_with(std::numeric_limits<float>::max(), place));
  CHECK_FALSE(updated.is_finite_with(bad, place));
}

TEST_CASE("the largest gradient is that of parameters that learn", "[training]") {
  Updated updated("sgd: {lr: 0.1, momentum: 0.9}", 0);
  REQUIRE(updated.is_finite_with(-3, 2 * kCount - 1));
  CHECK(updated.largest_gradient() == 3);
  REQUIRE(updated.is_finite_with(-3, 2 * kCount));
  CHECK(updated.largest_gradient() == 0.25f);
}

TEST_CASE("a bit that flips in a frozen parameter is found within 16 steps", "[training]") {
  Updated updated("sgd: {lr: 0.1, momentum: 0.9}", 0);
  for (int step = 0; step < 20; ++step) REQUIRE_NOTHROW(updated.step());
  const std::size_t array = GENERATE(0u, 1u), element = GENERATE(0u, 5000u, 9999u);
  updated.flip(2, array, element);
  CHECK_THROWS_WITH(
      [&] {
        for (int step = 0; step < 16; ++step) updated.step();
      }(),
      Catch::Contains("weight changed in memory without an update"));
}

}  // namespace trainer
