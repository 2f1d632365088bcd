#include "models/guards/replica_guard.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <optional>

#include "engine/parallel/gradient_reducer.h"
#include "models/layers/nested_plan.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

void flip(float& number) { number = std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) ^ 1u << 12); }

/// Parameters on every node of one rank, or in every column, under a guard that compares every second step.
struct Guarded {
  Guarded(int data, int model, int ranks_per_node)
      : mesh(test_world(), {.data = data, .model = model, .ranks_per_node = ranks_per_node}) {
    NestedPlan nested(plan);
    nested.begin_layer(nullptr, "dense", "");
    plan.parameter({.name = "weight", .shape = {100, 50}});
    plan.parameter({.name = "bias",
                    .shape = {10},
                    .shard_axis = 0,
                    .shard_first = 10 * mesh.model().rank(),
                    .whole = Shape{10 * model}});
    plan.state({.name = "running_mean", .shape = {20}});
    states.assign(static_cast<std::size_t>(plan.state_end()), 1.f);
    windows.emplace(mesh, pool,
                    std::vector<std::int64_t>{0, plan.parameters()[1].offset, plan.parameter_end()},
                    ParameterWindow::Options{});
    reducer = windows->make_reducer(mesh, pool);
    std::ranges::fill(windows->only().values(), 0.5f);
    // Shards differ from rank to rank, as they should.
    for (int i = 0; i < 10; ++i)
      windows->only().values()[static_cast<std::size_t>(plan.parameters()[1].offset + i)] =
          static_cast<float>(mesh.model().rank());
    reducer->publish();
    guard.emplace(plan, states, mesh, *windows, 2);
  }

  /// The error of this rank in two steps without an update; empty: none.
  std::string in_two_steps() {
    try {
      for (int step = 0; step < 2; ++step) {
        guard->before_arrivals(done);
        reducer->publish();
        guard->after_publish(++done);
      }
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::diverged);
      return error.what();
    }
    return "";
  }

  Mesh mesh;
  ThreadPool pool{1, true};
  NetworkPlan plan{1};
  std::vector<float> states;
  std::optional<ParameterWindows> windows;
  std::unique_ptr<GradientReducer> reducer;
  std::optional<ReplicaGuard> guard;
  std::int64_t done = 0;
};

int ranks() { return test_world().size(); }
bool is_last() { return test_world().rank() == ranks() - 1; }

}  // namespace

TEST_CASE("equal replicas on nodes and in columns are fine, step after step", "[training]") {
  for (auto [data, model, ranks_per_node] : {std::array{ranks(), 1, 1}, {1, ranks(), 0}, {ranks(), 1, 0}}) {
    Guarded guarded(data, model, ranks_per_node);
    for (int i = 0; i < 5; ++i) CHECK(guarded.in_two_steps().empty());
  }
}

TEST_CASE("a bit that flips in a replica of another node's values is found before it is overwritten",
          "[training][2+ ranks]") {
  Guarded guarded(ranks(), 1, 1);
  REQUIRE(guarded.in_two_steps().empty());
  if (!is_last()) return;
  // The first float is another rank's.
  flip(guarded.windows->only().values()[0]);
  CHECK_THROWS_WITH(
      guarded.guard->before_arrivals(2),
      Catch::StartsWith("error: a replica of dense1.weight changed in memory after step 2 (rank " +
                        std::to_string(ranks() - 1) + " on "));
}

TEST_CASE("what differs between model columns is named on rank 0, with ranks and steps",
          "[training][2+ ranks]") {
  Guarded guarded(1, ranks(), 0);
  REQUIRE(guarded.in_two_steps().empty());
  if (is_last()) flip(guarded.windows->only().values()[4999]);
  const std::string error = guarded.in_two_steps();
  CHECK_FALSE(error.empty());
  if (test_world().rank() > 0) return;
  CHECK_THAT(error, Catch::StartsWith("error: dense1.weight is not the same for rank 0 on ") &&
                        Catch::Contains(" and rank " + std::to_string(ranks() - 1) + " on ") &&
                        Catch::Contains("all were equal after step 2, but not after step 4"));
}

TEST_CASE("a layer's state that differs on one rank is named", "[training][2+ ranks]") {
  Guarded guarded(ranks(), 1, 0);
  if (is_last()) flip(guarded.states[3]);
  const std::string error = guarded.in_two_steps();
  CHECK_FALSE(error.empty());
  if (test_world().rank() == 0)
    CHECK_THAT(error, Catch::StartsWith("error: dense1.running_mean is not the same for rank 0 on "));
}

}  // namespace trainer
