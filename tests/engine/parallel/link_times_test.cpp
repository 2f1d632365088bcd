#include "engine/parallel/link_times.h"

#include <catch2/catch.hpp>

#include "tests/support/mpi_main.h"

namespace trainer {

TEST_CASE("the measured link is the same on all ranks, and a byte takes less than a message",
          "[parallel][2+ ranks]") {
  Communicator& world = test_world();
  const LinkTimes link = measured_link(world);
  std::vector<double> extremes{link.latency,    -link.latency,          link.bandwidth,
                               -link.bandwidth, link.overhead_per_byte, -link.overhead_per_byte};
  world.maximum(extremes);
  CHECK(extremes[0] == -extremes[1]);
  CHECK(extremes[2] == -extremes[3]);
  CHECK(extremes[4] == -extremes[5]);
  CHECK(1 / link.bandwidth < link.latency);
  CHECK(link.overhead_per_byte >= 0);
  CHECK(link.overhead_per_byte < link.latency);
}

}  // namespace trainer
