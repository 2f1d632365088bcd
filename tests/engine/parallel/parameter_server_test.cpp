// Ranks add ones to a counter in each element of the parameters, and see how far it is: nothing is lost.
#include "engine/parallel/parameter_server.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <thread>

#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// Adds gradients to its shard.
class Adder final : public ParameterServer::Owner {
 public:
  explicit Adder(std::int64_t floats) : values_(static_cast<std::size_t>(floats)) {}

  std::span<const float> values(std::int64_t expected) override {
    most_expected_ = std::max(most_expected_, expected);
    return values_;
  }
  void update(std::int64_t, double share, std::span<const float> gradient, std::int64_t version) override {
    CHECK(version == updates_++);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += static_cast<float>(share) * gradient[i];
  }
  void take_notes(std::int64_t unit, std::span<const double> notes) override {
    CHECK(units_.insert(unit).second);
    CHECK(notes[0] == static_cast<double>(unit));
  }

  std::vector<float> values_;
  std::int64_t updates_ = 0, most_expected_ = 0;
  std::set<std::int64_t> units_;
};

struct Outcome {
  std::int64_t computed = 0, end = 0, largest = 0;
};

constexpr std::int64_t kFloats = 1000;

/// Computes the units; `slow`: rank 0 takes its time. `stop`: the unit after which the worker asks for an
/// end.
Outcome work(ParameterServer& server, Adder& owner, const Range& units, std::int64_t version, bool slow,
             std::int64_t stop = -1) {
  Outcome outcome;
  std::vector<float> values(kFloats), ones(kFloats, 1.0f);
  server.begin(units, version, owner);
  while (const auto unit = server.next(values)) {
    outcome.largest = std::max(outcome.largest, server.staleness());
    if (slow && test_world().rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto note = static_cast<double>(*unit);
    server.give(
        {.unit = *unit, .share = 1, .gradient = ones, .notes = {&note, 1}, .ends_early = *unit == stop});
    ++outcome.computed;
  }
  outcome.largest = std::max(outcome.largest, server.staleness());
  outcome.end = server.end();
  return outcome;
}

Range shard_of(const Communicator& world) { return part_of(kFloats, world.rank(), world.size()); }

std::int64_t sum_over_ranks(std::int64_t mine) {
  test_world().sum(std::span(&mine, 1));
  return mine;
}

}  // namespace

TEST_CASE("every unit is computed once, every gradient arrives once, and none is staler than the bound",
          "[async]") {
  Communicator& world = test_world();
  const std::int64_t bound = GENERATE(0, 1, 2, 3, 8);
  const bool slow = GENERATE(false, true);
  INFO("bound " << bound << ", slow " << slow);
  Adder owner(shard_of(world).count());
  ParameterServer server(world, {.floats = kFloats, .shard = shard_of(world), .bound = bound, .notes = 1});
  CHECK(server.workers_at_a_time() == std::min<std::int64_t>(world.size(), bound + 1));
  const std::int64_t half = 10 * world.size();
  // Two stretches with the same memory.
  for (const Range& units : {Range{0, half}, Range{half, 2 * half}}) {
    const Outcome outcome = work(server, owner, units, units.first, slow);
    CHECK(outcome.end == units.last);
    CHECK(outcome.largest <= bound);
    CHECK(sum_over_ranks(outcome.computed) == half);
    CHECK(std::ranges::all_of(owner.values_,
                              [&](float value) { return value == static_cast<float>(units.last); }));
  }
  if (world.rank() == 0) CHECK(std::ssize(owner.units_) == 2 * half);
  server.close();
}

TEST_CASE("an owner expects the updates of the other workers that compute", "[async]") {
  Communicator& world = test_world();
  const std::int64_t bound = GENERATE(0, 1, 2, 8);
  Adder owner(shard_of(world).count());
  ParameterServer server(world, {.floats = kFloats, .shard = shard_of(world), .bound = bound, .notes = 1});
  const bool slow = true;  // its gradient is under way while others read
  work(server, owner, {0, 20 * world.size()}, 0, slow);
  const std::int64_t others = server.workers_at_a_time() - 1;
  CHECK(owner.most_expected_ <= others);
  CHECK(owner.most_expected_ >= std::min<std::int64_t>(others, 1));
  server.close();
}

TEST_CASE("a worker that asks for an end ends the units at a multiple of the ranks, the same on all",
          "[async]") {
  Communicator& world = test_world();
  const std::int64_t bound = GENERATE(0, 8), ranks = world.size();
  Adder owner(shard_of(world).count());
  ParameterServer server(world, {.floats = kFloats, .shard = shard_of(world), .bound = bound, .notes = 1});
  const Outcome outcome = work(server, owner, {0, 1000 * ranks}, 0, false, 3 * ranks);
  CHECK(outcome.end % ranks == 0);
  CHECK(outcome.end > 3 * ranks);
  CHECK(outcome.end < 1000 * ranks);
  CHECK(sum_over_ranks(outcome.end) == outcome.end * ranks);
  CHECK(sum_over_ranks(outcome.computed) == outcome.end);
  CHECK(std::ranges::all_of(owner.values_,
                            [&](float value) { return value == static_cast<float>(outcome.end); }));
  server.close();
}

TEST_CASE("a worker that leaves in the midst of units stops no other one", "[async]") {
  Communicator& world = test_world();
  const std::int64_t bound = GENERATE(0, 1, 8);
  Adder owner(shard_of(world).count());
  ParameterServer server(world, {.floats = kFloats, .shard = shard_of(world), .bound = bound, .notes = 1});
  std::vector<float> values(kFloats), ones(kFloats, 1.0f);
  server.begin({0, 100 * world.size()}, 0, owner);
  std::int64_t given = 0;
  while (const auto unit = server.next(values)) {
    if (world.rank() == world.size() - 1 && given == 2) {
      server.leave();
      break;
    }
    const auto note = static_cast<double>(*unit);
    server.give({.unit = *unit, .share = 1, .gradient = ones, .notes = {&note, 1}});
    ++given;
  }
  server.end();
  const std::int64_t all = sum_over_ranks(given);
  CHECK(std::ranges::all_of(owner.values_, [&](float value) { return value == static_cast<float>(all); }));
  server.close();
}

TEST_CASE("an error of an owner reaches its worker", "[async][1 rank]") {
  class Failing final : public ParameterServer::Owner {
   public:
    std::span<const float> values(std::int64_t) override { return values_; }
    void update(std::int64_t, double, std::span<const float>, std::int64_t) override {
      throw Error(ExitCode::diverged, "a bit flipped");
    }
    void take_notes(std::int64_t, std::span<const double>) override {}
    std::vector<float> values_ = std::vector<float>(kFloats);
  };
  Failing owner;
  ParameterServer server(test_world(), {.floats = kFloats, .shard = {0, kFloats}, .bound = 3});
  std::vector<float> values(kFloats);
  server.begin({0, 10}, 0, owner);
  REQUIRE(server.next(values) == 0);
  server.give({.unit = 0, .share = 1, .gradient = values});
  CHECK_THROWS_AS(server.next(values), Error);
}

}  // namespace trainer
