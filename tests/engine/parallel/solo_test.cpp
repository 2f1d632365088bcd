#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

TEST_CASE("without a launcher the world is a group of one that answers every call", "[parallel]") {
  const auto world = start_world();
  CHECK(world->size() == 1);
  std::array<float, 3> values{1, 2, 3}, copy{};
  const std::array<std::int64_t, 1> counts{3};
  world->sum(values);
  CHECK(world->start_reduce_scatter(values, counts)->test());
  world->all_gather(values, copy, counts);
  CHECK(copy == values);
  std::ranges::fill(copy, 0.f);
  world->all_to_all(values, counts, copy, counts);
  CHECK(copy == values);
  CHECK(world->gather(std::as_bytes(std::span(values)), 0).front().size() == sizeof values);
  CHECK(world->split(3, 0)->size() == 1);
}

TEST_CASE("memory of a group of one is zero-filled and aligned", "[parallel]") {
  const auto memory = solo()->shared(100'000);
  REQUIRE(memory->bytes().size() == 100'000);
  CHECK(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % 64 == 0);
  CHECK(std::ranges::all_of(memory->bytes(), [](std::byte byte) { return byte == std::byte{0}; }));
  CHECK(solo()->shared(0)->bytes().empty());
}

TEST_CASE("memory that the system does not have is an error", "[parallel]") {
  CHECK_THROWS_AS(solo()->shared(std::int64_t{1} << 60), Error);
}

TEST_CASE("alone, with one worker, the sum is the worker's own gradient and nothing is copied",
          "[parallel]") {
  const auto world = solo();
  Mesh mesh(*world, {});
  ThreadPool pool(1);
  ParameterWindow window(mesh, pool, {0, 10, 25}, {});
  REQUIRE(window.shard().size() == 1);
  CHECK(window.shard().front() == Range{0, 25});
  CHECK(window.sums({0, 25}).data() == window.gradients(0).data());
  CHECK(window.transport() == "none");
  CHECK(make_gradient_reducer(mesh, pool, window)->overwritten().empty());
}

TEST_CASE("gradients that become ready out of order are a bug that is reported", "[parallel]") {
  const auto world = solo();
  Mesh mesh(*world, {});
  ThreadPool pool(1);
  ParameterWindow window(mesh, pool, {0, 10, 25}, {});
  const auto reducer = make_gradient_reducer(mesh, pool, window);
  reducer->begin();
  CHECK(reducer->position(0) == 25);
  CHECK_THROWS_AS(reducer->ready(0, 26), std::logic_error);
  reducer->ready(0, 10);
  CHECK(reducer->position(0) == 10);
  CHECK_THROWS_AS(reducer->ready(0, 15), std::logic_error);
  CHECK_THROWS_AS(reducer->finish(), std::logic_error);
}

}  // namespace trainer
