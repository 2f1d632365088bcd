#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("attention passes the gradient check, in every form", "[layers]") {
  const std::string settings =
      GENERATE("", ", causal: true", ", rotary: true, bias: false", ", causal: true, rotary: true");
  check_gradients("attention: {heads: 2" + settings + "}", {3, 4}, {.rows = 2});
}

TEST_CASE("attention passes the gradient check at one position, and with workers that have no rows",
          "[layers]") {
  check_gradients("attention: {heads: 1, causal: true}", {1, 3}, {.rows = 2, .workers = 3});
}

TEST_CASE("attention passes the gradient check inside a residual", "[layers]") {
  check_gradients("residual: [layer_norm, {attention: {heads: 2, causal: true}}]", {4, 4}, {.rows = 2});
}

/// Positions far apart, whose scores lie in several tiles.
std::vector<float> waves(std::int64_t count) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i)
    numbers.push_back(std::sin(0.37f * static_cast<float>(i * i % 101)));
  return numbers;
}

TEST_CASE("later positions do not change the output of a causal position, over many tiles", "[layers]") {
  constexpr std::int64_t kLength = 150, kWidth = 4;
  LayerHarness harness("attention: {heads: 2, causal: true, rotary: true}", {kLength, kWidth}, {.rows = 1});
  std::vector<float> x = waves(kLength * kWidth);
  const std::vector<float> y = harness.forward(x);
  constexpr std::size_t kChanged = 100 * kWidth;
  for (std::size_t i = kChanged; i < x.size(); ++i) x[i] += 1;
  const std::vector<float> changed = harness.forward(x);
  for (std::size_t i = 0; i < kChanged; ++i) CHECK(changed[i] == y[i]);
  CHECK(changed[kChanged] != y[kChanged]);

  // And no gradient goes from an early position to later ones.
  std::vector<float> dy(y.size());
  dy[kChanged - 1] = 1;
  const std::vector<float> dx = harness.backward(dy);
  for (std::size_t i = kChanged; i < dx.size(); ++i) CHECK(dx[i] == 0);
}

TEST_CASE("a NaN spoils its own sample of an attention, and no other", "[layers]") {
  LayerHarness harness("attention: 1", {2, 2}, {.rows = 2});
  const std::vector<float> y =
      harness.forward(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i < 4));
}

TEST_CASE("the memory of attention grows with the length of its sequences, not with the square", "[layers]") {
  const auto floats = [](std::int64_t length) {
    return LayerHarness("attention: {heads: 2, causal: true, rotary: true}", {length, 8}, {.rows = 1})
        .plan()
        .scratch_end();
  };
  // Four times as much for four times as many.
  CHECK(10 * (floats(8192) - floats(4096)) < 41 * (floats(2048) - floats(1024)));
}

TEST_CASE("attention that does not fit is an error that names the reason", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("attention: 3", {5, 4}, {}), Catch::Contains("3 heads do not divide 4"));
  CHECK_THROWS_WITH(LayerHarness("attention: {heads: 2, rotary: true}", {5, 6}, {}),
                    Catch::Contains("heads of even size"));
  CHECK_THROWS_WITH(LayerHarness("attention: 2", {4}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
