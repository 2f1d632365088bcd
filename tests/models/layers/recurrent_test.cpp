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

TEST_CASE("rnn takes the function it is told", "[layers]") {
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

TEST_CASE("a NaN spoils what comes after it, and no other sample", "[layers]") {
  const std::string type = GENERATE("rnn", "lstm", "gru");
  LayerHarness harness(type + ": 2", {3, 1}, {.rows = 2});
  const std::vector<float> y =
      harness.forward(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1, 1});
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 2 && i < 6));
}

TEST_CASE("what is no sequence of vectors does not fit a recurrent layer", "[layers]") {
  CHECK_THROWS_WITH(LayerHarness("lstm: 3", {5}, {}), Catch::Contains("a sequence of vectors"));
}

}  // namespace
}  // namespace trainer
