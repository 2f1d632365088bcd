#include "models/training/memory_guard.h"

#include <bit>
#include <catch2/catch.hpp>

namespace trainer {
namespace {

void flip(float& value, int bit) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << bit);
}

}  // namespace

TEST_CASE("a flipped bit in values or optimizer states is found and named, an update is not", "[training]") {
  std::vector<float> values(300, 0.5f), momentum(300, 0.25f), gradients(300);
  const std::vector<Parameter> parameters{{.name = "dense1.weight"}, {.name = "dense1.bias"}};
  const auto segment = [&](std::size_t first, std::size_t count, int parameter) {
    Segment part{.values = std::span(values).subspan(first, count),
                 .gradients = std::span(gradients).subspan(first, count),
                 .parameter = parameter};
    part.states[0] = std::span(momentum).subspan(first, count);
    return part;
  };
  std::vector<Segment> segments{segment(0, 200, 0), segment(200, 90, 0), segment(290, 10, 1)};
  MemoryGuard guard(segments.size(),
                    {.parameters = parameters, .states = {"momentum"}, .place = "rank 2 on hostess"});
  for (std::size_t i = 0; i < segments.size(); ++i) guard.keep(i, segments[i], guard.all());
  const auto check_all = [&] {
    for (std::size_t i = 0; i < segments.size(); ++i) guard.check(i, segments[i], guard.all(), 41);
  };
  CHECK_NOTHROW(check_all());

  flip(values[295], 3);
  CHECK_NOTHROW(guard.check(0, segments[0], guard.all(), 41));
  try {
    check_all();
    FAIL("not found");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::diverged);
    CHECK(error.diagnostics()[0].what ==
          "dense1.bias changed in memory without an update, after step 41 (rank 2 on hostess)");
  }
  flip(values[295], 3);
  flip(momentum[100], 31);
  CHECK_THROWS_WITH(check_all(), Catch::StartsWith("error: momentum of dense1.weight changed in memory"));
  CHECK_NOTHROW(guard.check(0, segments[0], {0, 1}, 41));
  guard.keep(0, segments[0], {0, 1});
  CHECK_THROWS(check_all());
  guard.keep(0, segments[0], {1, 2});
  CHECK_NOTHROW(check_all());
}

}  // namespace trainer
