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
  world->reduce_scatter(values, counts);
  world->start_sum(values)->wait();
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
  GradientReducer reducer(mesh, pool, {0, 10, 25}, {});
  REQUIRE(reducer.pieces().size() == 1);
  const auto piece = reducer.pieces().front();
  CHECK(piece.first == 0);
  CHECK(piece.last == 25);
  CHECK(reducer.sums(piece).data() == reducer.gradients(0).data());
  CHECK(reducer.transport() == "none");
}

TEST_CASE("gradients that become ready out of order are a bug that is reported", "[parallel]") {
  const auto world = solo();
  Mesh mesh(*world, {});
  ThreadPool pool(1);
  GradientReducer reducer(mesh, pool, {0, 10, 25}, {});
  reducer.begin();
  CHECK_THROWS_AS(reducer.ready(0, 0, 10), std::logic_error);
  reducer.ready(0, 10, 25);
  CHECK_THROWS_AS(reducer.finish(), std::logic_error);
}

}  // namespace trainer
