#include "engine/parallel/spare_buffers.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("a message takes the smallest spare buffer with room, else the largest", "[parallel]") {
  std::vector<std::vector<float>> spare{std::vector<float>(10), std::vector<float>(30),
                                        std::vector<float>(20)};
  const std::vector<float> small = take_spare(spare, 15);
  CHECK(small.size() == 15);
  CHECK(small.capacity() == 20);
  REQUIRE(spare.size() == 2);

  const std::vector<float> large = take_spare(spare, 40);
  CHECK(large.capacity() == 40);
  REQUIRE(spare.size() == 1);
  CHECK(spare.front().capacity() == 10);

  spare.clear();
  CHECK(take_spare(spare, 3) == std::vector<float>(3));
}

}  // namespace trainer
