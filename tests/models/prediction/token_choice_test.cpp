#include "models/prediction/token_choice.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace trainer {
namespace {

/// How often each token is chosen when `uniform` takes equally spaced values.
std::vector<double> frequencies(const std::vector<float>& scores, const TokenChoice& choice) {
  constexpr int kDraws = 10'000;
  std::vector<double> counts(scores.size());
  for (int i = 0; i < kDraws; ++i)
    counts[choose_token(scores, choice, static_cast<float>(i) / kDraws)] += 1.0 / kDraws;
  return counts;
}

const std::vector<float> kScores{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

void check(const TokenChoice& choice, const std::vector<double>& expected) {
  const std::vector<double> found = frequencies(kScores, choice);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == Approx(expected[i]).margin(0.001));
}

}  // namespace

TEST_CASE("tokens are drawn by their probabilities, which a temperature sharpens", "[generation]") {
  check({.temperature = 1}, {0.1, 0.4, 0.2, 0.3});
  check({.temperature = 0.5}, {0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3});
  check({.temperature = 0}, {0, 1, 0, 0});
}

TEST_CASE("top_k and top_p keep the likeliest tokens in their proportion", "[generation]") {
  check({.temperature = 1, .top_k = 2}, {0, 4.0 / 7, 0, 3.0 / 7});
  check({.temperature = 1, .top_k = 9}, {0.1, 0.4, 0.2, 0.3});
  check({.temperature = 1, .top_p = 0.65}, {0, 4.0 / 7, 0, 3.0 / 7});
  check({.temperature = 1, .top_p = 0.75}, {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  check({.temperature = 1, .top_p = 0}, {0, 1, 0, 0});
  // 0.5 of what top_k leaves.
  check({.temperature = 1, .top_k = 3, .top_p = 0.5}, {0, 4.0 / 7, 0, 3.0 / 7});
}

TEST_CASE("of equal scores the lower token is likelier, and infinite scores choose a token", "[generation]") {
  CHECK(choose_token(std::vector<float>{1, 2, 2}, {.temperature = 0}, 0) == 1);
  CHECK(choose_token(std::vector<float>{1, 2, 2}, {.temperature = 1, .top_k = 1}, 0.99f) == 1);
  for (const float odd : {INFINITY, -INFINITY, NAN})
    CHECK(choose_token(std::vector<float>{odd, odd}, {.temperature = 1, .top_k = 2}, 0.5f) < 2);
}

}  // namespace trainer
