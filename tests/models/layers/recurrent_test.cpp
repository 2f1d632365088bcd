#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("recurrent layers pass the gradient check, in every form", "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  const std::string settings =
      GENERATE("", ", layers: 2", ", bidirectional: true", ", layers: 2, bidirectional: true, bias: false",
               ", output: last", ", bidirectional: true, output: last");
  check_gradients(type + ": {units: 3" + settings + "}", {4, 2}, {.rows = 2});
}

TEST_CASE("recurrent layers pass the gradient check at lengths 1 and 2, and with workers that have no rows",
          "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  const std::int64_t length = GENERATE(1, 2);
  check_gradients(type + ": 2", {length, 1}, {.rows = 2, .workers = 3});
}

TEST_CASE("rnn takes the function it is reported", "[layers]") {
  const std::string function = GENERATE("tanh", "sigmoid");
  check_gradients("rnn: {units: 3, activation: " + function + "}", {3, 2}, {.rows = 2});
}

TEST_CASE("truncate lets no gradient pass from one stretch of steps to the one before", "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  LayerHarness harness(type + ": {units: 2, truncate: 3}", {5, 2}, {.rows = 1});
  const std::vector<float> x{0.1f, 0.2f, -0.3f, 0.4f, 0.5f, -0.6f, 0.7f, 0.8f, -0.9f, 1};
  harness.forward(x);
  std::vector<float> dy(10);
  dy[8] = 1;  // of step 4, in the stretch of steps 3 and 4
  const std::vector<float> dx = harness.backward(dy);
  for (std::size_t i = 0; i < 6; ++i) CHECK(dx[i] == 0);
  CHECK(dx[6] != 0);
}

TEST_CASE("sequences that continue with the kept state are as one sequence that is truncated", "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  const int workers = GENERATE(1, 2, 3);
  const std::string settings = "{units: 3, layers: 2, ";
  constexpr std::int64_t kRows = 2, kLength = 3, kWidth = 2, kUnits = 3;
  LayerHarness whole(type + ": " + settings + "truncate: 3}", {2 * kLength, kWidth}, {.rows = kRows});
  LayerHarness parts(type + ": " + settings + "keep_state: true}", {kLength, kWidth},
                     {.rows = kRows, .workers = workers});
  const auto numbers = [](std::int64_t count, float factor) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(std::sin(factor * static_cast<float>(i)));
    return result;
  };
  /// The first or second half of each row.
  const auto half = [](const std::vector<float>& all, std::int64_t which) {
    const std::int64_t width = std::ssize(all) / (2 * kRows);
    std::vector<float> result;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto begin = all.begin() + (2 * row + which) * width;
      result.insert(result.end(), begin, begin + width);
    }
    return result;
  };
  const std::vector<float> x = numbers(kRows * 2 * kLength * kWidth, 0.7f),
                           dy = numbers(kRows * 2 * kLength * kUnits, 1.3f);
  const std::vector<float> y = whole.forward(x), dx = whole.backward(dy);
  std::vector<std::vector<float>> gradients;
  for (const Parameter& parameter : parts.parameters())
    gradients.emplace_back(static_cast<std::size_t>(parameter.shape.size()));
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t row = 0; row < kRows; ++row)
      parts.samples()[static_cast<std::size_t>(row)] = 10 * row + step;
    CHECK(relative_difference(parts.forward(half(x, step)), half(y, step)) < 1e-6);
    CHECK(relative_difference(parts.backward(half(dy, step)), half(dx, step)) < 1e-6);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::vector<float> gradient = parts.gradient(parts.parameters()[i]);
      for (std::size_t k = 0; k < gradient.size(); ++k) gradients[i][k] += gradient[k];
    }
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO(parts.parameters()[i].name);
    CHECK(relative_difference(gradients[i], whole.gradient(whole.parameters()[i])) < 1e-5);
  }

  // A sample that does not follow begins anew, in evaluation, too.
  const std::vector<float> anew = half(y, 0);
  parts.samples()[0] = 5;
  parts.samples()[1] = 12;
  const std::vector<float> mixed = parts.forward(half(x, 0));
  CHECK(std::equal(anew.begin(), anew.begin() + kLength * kUnits, mixed.begin()));
  CHECK(mixed.back() != anew.back());
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t row = 0; row < kRows; ++row)
      parts.samples()[static_cast<std::size_t>(row)] = 20 + 10 * row + step;
    CHECK(relative_difference(parts.forward(half(x, step), Mode::evaluation), half(y, step)) < 1e-6);
  }
}

TEST_CASE("a layer of two directions keeps no state", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("lstm: {units: 3, bidirectional: true, keep_state: true}", {5, 2}, {}),
                    Catch::Contains("no state to resume from"));
}

TEST_CASE("a NaN spoils what comes after it, and no other sample", "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  LayerHarness harness(type + ": 2", {3, 1}, {.rows = 2});
  const std::vector<float> y =
      harness.forward(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1, 1});
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 2 && i < 6));
}

TEST_CASE("an input that is no sequence of vectors does not fit a recurrent layer", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("lstm: 3", {5}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
