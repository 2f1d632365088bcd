#include "engine/core/arena.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>

namespace trainer {

TEST_CASE("an arena is zero-filled and begins on a cache line", "[core]") {
  const Arena arena(1001);
  CHECK(arena.floats().size() == 1001);
  CHECK(reinterpret_cast<std::uintptr_t>(arena.floats().data()) % 64 == 0);
  CHECK(std::ranges::all_of(arena.floats(), [](float x) { return x == 0; }));
  CHECK(Arena(0).floats().empty());
}

TEST_CASE("an arena larger than the memory is an error with its size, not a crash", "[core]") {
  CHECK_THROWS_WITH(Arena(std::int64_t{1} << 55), Catch::Contains("MiB"));
}

}  // namespace trainer
