#include "engine/parallel/link_speed.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/support/mpi_main.h"

namespace trainer {

TEST_CASE("the speed of the link is the same on all ranks, and infinite on one host", "[parallel]") {
  std::vector<int> hosts(static_cast<std::size_t>(test_world().size()));
  CHECK(std::isinf(measured_link_speed(MPI_COMM_WORLD, hosts)));
  std::iota(hosts.begin(), hosts.end(), 0);
  const double speed = measured_link_speed(MPI_COMM_WORLD, hosts);
  CHECK(std::isinf(speed) == (hosts.size() == 1));
  std::vector<double> extremes{speed, -speed};
  test_world().maximum(extremes);
  CHECK(extremes[0] == -extremes[1]);
  CHECK(speed > 0);
}

}  // namespace trainer
