#include <catch2/catch.hpp>
#include <cmath>

#include "engine/config/config_tree.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

constexpr ScheduleContext kContext{.rate = 0.5, .steps_per_epoch = 10, .total_steps = 100};

std::unique_ptr<Schedule> build(const std::string& yaml, std::int64_t warmup = 0) {
  const ConfigTree tree = ConfigTree::member("schedule", yaml);
  ScheduleContext context = kContext;
  context.warmup = warmup;
  return make_schedule(tree.root(), context);
}

TEST_CASE("constant is the optimizer's rate, always", "[schedules]") {
  const auto schedule = build("constant");
  CHECK(schedule->at(0) == 0.5);
  CHECK(schedule->at(1000) == 0.5);
}

TEST_CASE("step multiplies the rate from each of its moments on", "[schedules]") {
  const auto schedule = build("step: {at: {epochs: [2, 4]}, factor: 0.1}");
  CHECK(schedule->at(19) == 0.5);
  CHECK(schedule->at(20) == Approx(0.05));
  CHECK(schedule->at(39) == Approx(0.05));
  CHECK(schedule->at(40) == Approx(0.005));
  CHECK(build("step: {at: {steps: [7]}, factor: 2}")->at(7) == Approx(1));
}

TEST_CASE("a step without moments, or with a factor of 0, is an error", "[schedules]") {
  CHECK_THROWS_WITH(build("step: {factor: 0.1}"), Catch::Contains("at"));
  CHECK_THROWS_WITH(build("step: {at: {steps: [7]}, factor: 0}"), Catch::Contains("factor"));
}

TEST_CASE("schedules stay at their end when a run is made longer", "[schedules]") {
  CHECK(build("cosine: 0.01")->at(100) == Approx(0.01));
  CHECK(build("cosine: 0.01")->at(200) == Approx(0.01));
  CHECK(build("polynomial: {final: 0.2, over: {epochs: 2}}")->at(20) == Approx(0.2));
  CHECK(build("polynomial: {final: 0.2, over: {epochs: 2}}")->at(99) == Approx(0.2));
  CHECK(build("one_cycle")->at(99) == Approx(0.5 / 25 / 1e4));
  CHECK(build("one_cycle")->at(200) == Approx(0.5 / 25 / 1e4));
}

TEST_CASE("schedules of a run without steps are finite", "[schedules]") {
  const std::string yaml = GENERATE("cosine", "polynomial", "one_cycle", "one_cycle: {rise: 1}");
  const ConfigTree tree = ConfigTree::member("schedule", yaml);
  for (const std::int64_t steps : {0, 1})
    CHECK(std::isfinite(Registry<Schedule, const ScheduleContext&>::make(
                            tree.root(), ScheduleContext{.rate = 0.5, .total_steps = steps})
                            ->at(0)));
}

TEST_CASE("growth without a period is an error", "[schedules]") {
  CHECK_THROWS_WITH(build("cosine: {growth: 2}"), Catch::Contains("period"));
}

TEST_CASE("a warm-up rises in a straight line to the learning rate, and the schedule follows",
          "[schedules]") {
  const auto step = build("step: {at: {steps: [6]}, factor: 0.1}", 4);
  CHECK(step->at(0) == Approx(0.125));
  CHECK(step->at(2) == Approx(0.375));
  CHECK(step->at(3) == Approx(0.5));
  CHECK(step->at(4) == Approx(0.5));
  CHECK(step->at(5) == Approx(0.5));
  CHECK(step->at(6) == Approx(0.05));
  CHECK(build("constant", 0)->at(0) == 0.5);

  const std::string yaml = GENERATE("cosine", "polynomial", "exponential: {factor: 0.5}");
  const auto schedule = build(yaml, 20);
  CHECK(schedule->at(9) == Approx(0.25));
  CHECK(schedule->at(19) == 0.5);
  CHECK(schedule->at(20) == 0.5);
  CHECK(schedule->at(21) < 0.5);
}

TEST_CASE("schedules of the whole run take the steps that a warm-up leaves", "[schedules]") {
  const auto cosine = build("cosine", 20), line = build("polynomial", 20);
  CHECK(cosine->at(60) == Approx(0.25));
  CHECK(cosine->at(100) == Approx(0).margin(1e-12));
  CHECK(line->at(60) == Approx(0.25));
  CHECK(line->at(100) == Approx(0).margin(1e-12));
  // A warm-up longer than the run.
  CHECK(build("cosine", 200)->at(99) == Approx(0.25));
}

TEST_CASE("after a warm-up a plateau reads losses and restores its state", "[schedules]") {
  const std::string yaml = "plateau: {patience: 0, factor: 0.5}";
  const auto schedule = build(yaml, 4);
  schedule->see(1);
  schedule->see(1);
  CHECK(schedule->at(1) == Approx(0.125));
  CHECK(schedule->at(9) == Approx(0.25));
  const auto restored = build(yaml, 4);
  restored->restore(schedule->state());
  CHECK(restored->at(9) == Approx(0.25));
}

TEST_CASE("one_cycle, which rises by itself, refuses a warm-up", "[schedules]") {
  CHECK(build("one_cycle: {momentum: {}}", 0)->momentum(99) == Approx(0.95));
  CHECK_THROWS_WITH(build("one_cycle", 4), Catch::Contains("warm-up") && Catch::Contains("rise"));
}

}  // namespace
}  // namespace trainer
