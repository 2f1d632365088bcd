#include "engine/parallel/mesh.h"

#include <catch2/catch.hpp>

#include "tests/support/mpi_main.h"

namespace trainer {

TEST_CASE("a model group's ranks are consecutive", "[parallel]") {
  Communicator& world = test_world();
  for (int model = 1; model <= world.size(); ++model) {
    if (world.size() % model != 0) continue;
    const Mesh mesh(world, {.data = world.size() / model, .model = model});
    CHECK(mesh.data().size() == world.size() / model);
    CHECK(mesh.model().size() == model);
    CHECK(mesh.data().rank() * model + mesh.model().rank() == world.rank());
  }
}

TEST_CASE("a mesh that the ranks do not fill is an error that names the right number of ranks",
          "[parallel]") {
  Communicator& world = test_world();
  try {
    [[maybe_unused]] const Mesh mesh(world, {.data = world.size(), .model = 2});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::ranks);
    const std::string ranks = std::to_string(world.size());
    CHECK(std::string(error.what()).starts_with("error: " + ranks + " rank"));
    CHECK(std::string(error.what()).find("not make a " + ranks + "x2 mesh\nhelp: mpirun -n ") !=
          std::string::npos);
  }
}

TEST_CASE("the ranks of a mesh that is far too large are counted without overflow", "[parallel]") {
  CHECK_THROWS_WITH(Mesh(test_world(), {.data = 100'000, .model = 100'000}),
                    Catch::Contains("mpirun -n 10000000000 "));
}

TEST_CASE("consecutive ranks count as a node when the user asks for that", "[parallel]") {
  Communicator& world = test_world();
  const int per_node = GENERATE(0, 1, 2, 3);
  const Mesh mesh(world, {.data = world.size(), .ranks_per_node = per_node});
  const int node_size = per_node == 0 ? world.size() : per_node;
  CHECK(mesh.nodes() == (world.size() + node_size - 1) / node_size);
  CHECK(mesh.node().rank() == world.rank() % node_size);
}

}  // namespace trainer
