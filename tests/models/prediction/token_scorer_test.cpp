#include "models/prediction/token_scorer.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>

#include "engine/math/gemm.h"
#include "models/prediction/token_choice.h"
#include "tests/support/evaluated_layers.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr int kVocabulary = 11;
constexpr const char* kGpt =
    "embedding: {units: 8, vocabulary: 11, positions: learned, name: tokens}, "
    "residual: [layer_norm, attention: {heads: 2, causal: true}], "
    "residual: [layer_norm, dense: {expand: 4, activation: gelu}, dense: 8], layer_norm, "
    "dense: {units: 11, tie: tokens}";
constexpr const char* kLlama =
    "embedding: {units: 8, vocabulary: 11}, "
    "residual: [rms_norm, attention: {heads: 4, kv_heads: 2, causal: true, rotary: true, bias: false}], "
    "residual: [rms_norm, multiply: [[dense: {units: 12, activation: silu}], [dense: 12]], dense: 8], "
    "rms_norm, "
    "dense: 11";
constexpr const char* kLstm = "embedding: {units: 8, vocabulary: 11}, lstm: {units: 9, layers: 2}, dense: 11";

/// A model with random weights.
class Model {
 public:
  Model(const char* layers, std::int64_t length, bool whole, int vocabulary = kVocabulary)
      : tree_(layer_list(layers)),
        scorer_(tree_.root().items("layers"), {.sample = {length}, .vocabulary = vocabulary}, whole),
        values_(scorer_.network()) {}

  TokenScorer& scorer() { return scorer_; }
  /// The likeliest continuation; `all_scores` of its tokens.
  std::vector<Token> continued(const std::vector<Token>& prompt, int tokens, std::vector<float>& all_scores) {
    std::vector<Token> text;
    scorer_.begin();
    for (int i = 0; i < tokens; ++i) {
      const std::span<const float> scores = scorer_.next(i == 0 ? prompt : std::vector<Token>{text.back()});
      all_scores.insert(all_scores.end(), scores.begin(), scores.end());
      text.push_back(choose_token(scores, {.temperature = 0}, 0));
    }
    return text;
  }

 private:
  ConfigTree tree_;
  TokenScorer scorer_;
  RandomValues values_;
};

std::vector<Token> prompt_of(int tokens) {
  std::vector<Token> prompt;
  prompt.reserve(static_cast<std::size_t>(tokens));
  for (int i = 0; i < tokens; ++i) prompt.push_back(static_cast<Token>(i * i % kVocabulary));
  return prompt;
}

}  // namespace

TEST_CASE("tokens with carried keys and values are those of whole forward passes, also in later windows",
          "[generation]") {
  const int prompt = GENERATE(1, 15, 16, 40);
  const char* const layers = GENERATE(kGpt, kLlama);
  Model stepwise(layers, 16, false), whole(layers, 16, true);
  REQUIRE(stepwise.scorer().is_stepwise());
  REQUIRE(!whole.scorer().is_stepwise());
  for (int text = 0; text < 2; ++text) {
    std::vector<float> scores, expected;
    CHECK(stepwise.continued(prompt_of(prompt), 50, scores) ==
          whole.continued(prompt_of(prompt), 50, expected));
    if (gemm_is_chained())
      CHECK(scores == expected);
    else
      CHECK(relative_difference(scores, expected) < 1e-5);
  }
}

TEST_CASE("the cost of a token does not grow with the text", "[generation]") {
  Model model(kGpt, 128, false);
  std::vector<float> scores;
  model.continued(prompt_of(1), 512, scores);
  // Each token once, and half a window again for each half that is full.
  CHECK(model.scorer().computed() == 512 + 6 * 63);
}

TEST_CASE("a full window begins again with its newer half", "[generation]") {
  Model model(kGpt, 16, false), fresh(kGpt, 16, false);
  const std::vector<Token> text = prompt_of(17);
  model.scorer().next(std::span(text).first(16));
  const std::span<const float> scores = model.scorer().next(std::span(text).last(1));
  const std::span<const float> expected = fresh.scorer().next(std::span(text).last(8));
  CHECK(std::ranges::equal(scores, expected));
}

TEST_CASE("recurrent layers carry their state over any number of tokens", "[generation]") {
  Model stepwise(kLstm, 4, false), whole(kLstm, 64, true);
  REQUIRE(stepwise.scorer().window() == 0);
  std::vector<float> scores, expected;
  CHECK(stepwise.continued(prompt_of(9), 50, scores) == whole.continued(prompt_of(9), 50, expected));
  if (gemm_is_chained()) CHECK(scores == expected);
  CHECK(stepwise.scorer().computed() == 9 + 49);
}

TEST_CASE("a network with a layer that needs the whole text computes all of it for each token",
          "[generation]") {
  Model model("embedding: {units: 8, vocabulary: 11}, lstm: {units: 4, bidirectional: true}, dense: 11", 16,
              false);
  CHECK(!model.scorer().is_stepwise());
  std::vector<float> scores;
  model.continued(prompt_of(3), 20, scores);
  CHECK(model.scorer().computed() == 20 * 16);
  CHECK_THROWS_AS(Model("embedding: {units: 8, vocabulary: 11}, flatten, dense: 11", 16, false), Error);
}

// Hidden, because it measures: models-tests "[.cost]".
TEST_CASE("512 tokens of configs/gpt-small cost less than three times 512 steps at a full window",
          "[.cost]") {
  // Of the processor, which other programs share.
  const auto seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const char* const bytes = std::getenv("VOCABULARY");
  const std::string vocabulary = bytes ? bytes : "256";
  std::string layers =
      "embedding: {units: 128, vocabulary: " + vocabulary + ", positions: learned, name: tokens}";
  for (int i = 0; i < 4; ++i)
    layers +=
        ", residual: [layer_norm, attention: {heads: 4, causal: true}], "
        "residual: [layer_norm, dense: {expand: 4, activation: gelu}, dense: 128]";
  layers += ", layer_norm, dense: {units: " + vocabulary + ", bias: false, tie: tokens}";
  const int count = std::stoi(vocabulary);
  Model model(layers.c_str(), 128, false, count);
  std::vector<Token> text = prompt_of(100);
  std::vector<double> steps;
  for (int repeat = 0; repeat < 20; ++repeat) {
    model.scorer().begin();
    model.scorer().next(text);
    for (int i = 100; i < 128; ++i) {
      const double start = seconds();
      model.scorer().next(std::span(text).first(1));
      if (i >= 120) steps.push_back(seconds() - start);
    }
  }
  std::ranges::sort(steps);
  const double step = steps[steps.size() / 2];
  std::vector<float> scores;
  const double start = seconds();
  model.continued(prompt_of(8), 512, scores);
  const double all = seconds() - start;
  WARN("a step at a full window: " << 1e6 * step << " us; 512 tokens: " << 1e3 * all << " ms, "
                                   << all / (512 * step) << " times 512 such steps");
  CHECK(all < 3 * 512 * step);
}

}  // namespace trainer
