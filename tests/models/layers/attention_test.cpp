#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("attention passes the gradient check, in every form", "[layers]") {
  const std::string settings =
      GENERATE("", ", causal: true", ", rotary: true, bias: false", ", causal: true, rotary: true",
               ", kv_heads: 1", ", kv_heads: 1, causal: true, rotary: true, rotary_base: 4");
  check_gradients("attention: {heads: 2" + settings + "}", {3, 4}, {.rows = 2});
}

TEST_CASE("attention passes the gradient check at one position, and with workers that have no rows",
          "[layers]") {
  check_gradients("attention: {heads: 1, causal: true}", {1, 3}, {.rows = 2, .workers = 3});
}

TEST_CASE("attention passes the gradient check inside a residual", "[layers]") {
  check_gradients("residual: [layer_norm, {attention: {heads: 2, causal: true}}]", {4, 4}, {.rows = 2});
}

TEST_CASE("attention whose heads share keys and values is one that repeats them", "[layers]") {
  constexpr std::int64_t kLength = 70, kWidth = 8, kHead = 2;
  LayerHarness shared("attention: {heads: 4, kv_heads: 2, causal: true, rotary: true, bias: false}",
                      {kLength, kWidth}, {.rows = 1});
  LayerHarness whole("attention: {heads: 4, causal: true, rotary: true, bias: false}", {kLength, kWidth},
                     {.rows = 1});
  // In memory (inputs, outputs): 8 queries, then 2 heads of keys and of values; here 4 of each.
  const std::span<float> from = shared.values(shared.parameters()[0]),
                         to = whole.values(whole.parameters()[0]);
  CHECK(from.size() == 8 * 16);
  for (std::int64_t in = 0; in < kWidth; ++in)
    for (std::int64_t out = 0; out < 24; ++out) {
      const std::int64_t head = out % kWidth / kHead, at = out % kHead;
      const std::int64_t source =
          out < kWidth ? out : kWidth + (out / kWidth - 1) * 4 + head / 2 * kHead + at;
      to[static_cast<std::size_t>(in * 24 + out)] = from[static_cast<std::size_t>(in * 16 + source)];
    }
  std::ranges::copy(shared.values(shared.parameters()[1]), whole.values(whole.parameters()[1]).begin());
  std::vector<float> x(kLength * kWidth);
  RandomStream(3, "x").fill_uniform(0, x);
  CHECK(relative_difference(shared.forward(x), whole.forward(x)) < 1e-6);
  CHECK(relative_difference(shared.backward(x), whole.backward(x)) < 1e-6);
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
  CHECK_THROWS_WITH(LayerHarness("attention: {heads: 4, kv_heads: 3}", {5, 8}, {}),
                    Catch::Contains("3 heads of keys and values do not divide 4 heads"));
  CHECK_THROWS_WITH(LayerHarness("attention: 2", {4}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
