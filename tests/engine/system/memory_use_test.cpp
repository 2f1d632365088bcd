#include "engine/system/memory_use.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

namespace trainer {

TEST_CASE("memory in use grows by a block that was written", "[core]") {
  if (!std::filesystem::exists("/proc/self/smaps_rollup")) return;
  const std::int64_t before = proportional_memory();
  CHECK(before > 0);
  constexpr std::int64_t kBytes = 64 << 20;
  const std::vector<char> block(kBytes, 1);
  CHECK(proportional_memory() - before > kBytes * 9 / 10);
  CHECK(block.back() == 1);
}

}  // namespace trainer
