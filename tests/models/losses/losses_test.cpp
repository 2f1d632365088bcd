#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "engine/config/config_tree.h"
#include "models/losses/loss.h"
#include "models/losses/mixed_loss.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A loss built from YAML.
struct BuiltLoss {
  explicit BuiltLoss(const std::string& yaml)
      : tree(ConfigTree::member("loss", yaml)), loss(Registry<Loss>::make(tree.root())) {}
  ConfigTree tree;
  std::unique_ptr<Loss> loss;
};

TEST_CASE("the gradient of a loss is its derivative, times the scale", "[losses]") {
  const auto* const name =
      GENERATE("softmax_cross_entropy", "sigmoid_cross_entropy", "mse", "huber: 0.7", "cosine",
               "softmax_cross_entropy: {smoothing: 0.2, class_weights: [1, 0.5, 3]}");
  const BuiltLoss built(name);
  std::vector<float> y{0.5f, -1, 2, 0.25f, 3, -2};
  const Shape shape{2, 3};
  const std::vector<std::int32_t> labels{2, 0};
  const Targets targets{.labels = labels};
  constexpr float kScale = 0.25f, kStep = 1e-2f;
  std::vector<float> dy(y.size()), derivatives;
  built.loss->evaluate({y.data(), shape}, targets, kScale, {dy.data(), shape});
  for (float& number : y) {
    const float middle = number;
    number = middle + kStep;
    const double above = built.loss->evaluate({y.data(), shape}, targets, 1, {});
    number = middle - kStep;
    const double below = built.loss->evaluate({y.data(), shape}, targets, 1, {});
    number = middle;
    derivatives.push_back(static_cast<float>(kScale * (above - below) / (2 * kStep)));
  }
  INFO(name);
  CHECK(relative_difference(dy, derivatives) < 1e-3);
}

TEST_CASE("smoothing and class weights give the loss and gradient of the formula, for any number of classes",
          "[losses]") {
  const auto classes = GENERATE(as<std::size_t>(), 1, 5, 17, 1000);
  const double smoothing = GENERATE(0, 0.2);
  const bool has_weights = GENERATE(false, true);
  std::string weights;
  for (std::size_t k = 0; k < classes; ++k)
    weights += (k == 0 ? "" : ", ") + std::string(k % 3 == 0 ? "0.25" : k % 3 == 1 ? "2" : "1");
  const BuiltLoss built("softmax_cross_entropy: {smoothing: " + std::to_string(smoothing) +
                        (has_weights ? ", class_weights: [" + weights + "]}" : "}"));
  std::vector<float> y(classes), dy(classes), expected(classes);
  for (std::size_t k = 0; k < classes; ++k) y[k] = 1000 + static_cast<float>(k * k % 37) / 4;
  const std::size_t label = classes / 2;
  double sum = 0, loss = 0, total = 0;
  for (const float logit : y) sum += std::exp(static_cast<double>(logit) - 1000);
  const auto share = [&](std::size_t k) {
    const double weight = !has_weights ? 1 : k % 3 == 0 ? 0.25 : k % 3 == 1 ? 2 : 1;
    return weight * (smoothing / static_cast<double>(classes) + (k == label ? 1 - smoothing : 0));
  };
  for (std::size_t k = 0; k < classes; ++k) {
    total += share(k);
    loss += share(k) * (std::log(sum) + 1000 - static_cast<double>(y[k]));
  }
  for (std::size_t k = 0; k < classes; ++k)
    expected[k] =
        static_cast<float>(0.5 * (total * std::exp(static_cast<double>(y[k]) - 1000) / sum - share(k)));
  const std::vector<std::int32_t> labels{static_cast<std::int32_t>(label)};
  const Shape shape{1, static_cast<std::int64_t>(classes)};
  CHECK(built.loss->evaluate({y.data(), shape}, {.labels = labels}, 0.5f, {dy.data(), shape}) ==
        Approx(loss).epsilon(1e-6).margin(1e-7));
  CHECK(built.loss->evaluate({y.data(), shape}, {.labels = labels}, 0.5f, {}) ==
        Approx(loss).epsilon(1e-6).margin(1e-7));
  for (std::size_t k = 0; k < classes; ++k) {
    INFO("class " << k);
    REQUIRE(dy[k] == Approx(expected[k]).epsilon(1e-5).margin(1e-7));
  }
}

TEST_CASE("a NaN or infinity among the outputs reaches the loss", "[losses]") {
  const auto* const name =
      GENERATE("softmax_cross_entropy", "sigmoid_cross_entropy", "mse", "huber", "cosine");
  const std::size_t position = GENERATE(0u, 1u, 2u);
  const float bad = GENERATE(kNan, kInfinity);
  std::vector<float> y{0.5f, -1, 2};
  y[position] = bad;
  const std::vector<std::int32_t> labels{1};
  INFO(name << " " << bad << " at " << position);
  const double loss = BuiltLoss(name).loss->evaluate({y.data(), {1, 3}}, {.labels = labels}, 1, {});
  CHECK_FALSE(std::isfinite(loss));
}

TEST_CASE("the loss of a mixed row is the sum of the losses of its labels, weighted by their shares",
          "[losses]") {
  const auto* const name = GENERATE("softmax_cross_entropy", "sigmoid_cross_entropy", "mse");
  const BuiltLoss built(name);
  const Shape shape{2, 3};
  const std::vector<std::int32_t> labels{2, 0}, others{1, 0};
  const std::vector<float> shares{0.7f, 0.6f};
  // Labels in these shares are values, which all but one of these losses can learn as well.
  const std::vector<float> spread{0, 0.3f, 0.7f, 1, 0, 0};
  std::vector<float> y{0.5f, -1, 2, 0.25f, 3, -2}, dy(6), expected(6), memory(3);
  const Targets targets{.labels = labels, .values = {}, .other_labels = others, .shares = shares};
  const double loss = mixed_loss(*built.loss, {y.data(), shape}, targets, 0.5f, {dy.data(), shape}, memory);
  double expected_loss = 0;
  if (std::string(name) == "softmax_cross_entropy") {
    for (std::size_t row = 0; row < 2; ++row) {
      double total = 0;
      for (std::size_t k = 0; k < 3; ++k) total += std::exp(static_cast<double>(y[3 * row + k]));
      for (std::size_t k = 0; k < 3; ++k) {
        const double share = spread[3 * row + k], logit = y[3 * row + k];
        expected_loss += share * (std::log(total) - logit);
        expected[3 * row + k] = static_cast<float>(0.5 * (std::exp(logit) / total - share));
      }
    }
    CHECK(loss == Approx(expected_loss));
  } else {
    expected_loss = built.loss->evaluate({y.data(), shape}, {.values = {spread.data(), shape}}, 0.5f,
                                         {expected.data(), shape});
    if (std::string(name) == "sigmoid_cross_entropy") CHECK(loss == Approx(expected_loss));
  }
  CHECK(relative_difference(dy, expected) < 1e-5);
}

TEST_CASE("no rows make a loss of zero", "[losses]") {
  const auto* const name =
      GENERATE("softmax_cross_entropy", "sigmoid_cross_entropy", "mse", "huber", "cosine");
  std::vector<float> y(3), dy(3);
  CHECK(BuiltLoss(name).loss->evaluate({y.data(), {0, 3}}, {}, 1, {dy.data(), {0, 3}}) == 0);
}

TEST_CASE("a loss requires one output for each class", "[losses]") {
  const auto* const name =
      GENERATE("softmax_cross_entropy", "sigmoid_cross_entropy", "mse", "huber", "cosine");
  CHECK_NOTHROW(BuiltLoss(name).loss->setup({10}, 10));
  CHECK_THROWS_WITH(BuiltLoss(name).loss->setup({12}, 10),
                    Catch::Contains(std::string(name) + " requires 10 outputs, one for each class; the model "
                                                        "gives 12"));
}

TEST_CASE("only softmax_cross_entropy cannot take values as targets", "[losses]") {
  CHECK_THROWS_WITH(BuiltLoss("softmax_cross_entropy").loss->setup({3}, 0), Catch::Contains("classes"));
  CHECK_NOTHROW(BuiltLoss("sigmoid_cross_entropy").loss->setup({3}, 0));
  CHECK_NOTHROW(BuiltLoss("mse").loss->setup({3}, 0));
}

TEST_CASE("contrastive draws pairs of class 1 together and pushes those of class 0 to the margin",
          "[losses]") {
  const BuiltLoss built("contrastive: 2");
  const Shape shape{3, 4};
  // Same and apart by 5; different and apart by 1; different and far enough.
  std::vector<float> y{3, 4, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0}, dy(y.size());
  const std::vector<std::int32_t> labels{1, 0, 0};
  const double loss = built.loss->evaluate({y.data(), shape}, {.labels = labels}, 2, {dy.data(), shape});
  CHECK(loss == Approx(12.5 + 0.5));
  CHECK(dy == std::vector<float>{6, 8, -6, -8, -2, 0, 2, 0, 0, 0, 0, 0});
  CHECK_THROWS_WITH(BuiltLoss("contrastive").loss->setup({4}, 10), Catch::Contains("two classes"));
  CHECK_THROWS_WITH(BuiltLoss("contrastive").loss->setup({5}, 2), Catch::Contains("even number"));
}

TEST_CASE("two embeddings at one place have a finite gradient", "[losses]") {
  std::vector<float> y(4), dy(4);
  const std::vector<std::int32_t> labels{0};
  BuiltLoss("contrastive").loss->evaluate({y.data(), {1, 4}}, {.labels = labels}, 1, {dy.data(), {1, 4}});
  CHECK(dy == std::vector<float>(4));
  BuiltLoss("cosine").loss->evaluate({y.data(), {1, 4}}, {.labels = labels}, 1, {dy.data(), {1, 4}});
  for (const float derivative : dy) CHECK(std::isfinite(derivative));
}

TEST_CASE("ctc finds the derivative of every output, also where a target repeats a symbol or is empty",
          "[losses]") {
  const BuiltLoss built("ctc");
  built.loss->setup({5, 3}, 0);
  const Shape shape{3, 5, 3};
  std::vector<float> y(45), dy(45), derivatives;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * i % 17) / 8 - 1;
  const std::vector<float> values{1, 1, 2, 2, 0, 0, 0, 0, 0};
  const Targets targets{.values = {values.data(), {3, 3}}};
  built.loss->evaluate({y.data(), shape}, targets, 2, {dy.data(), shape});
  for (float& number : y) {
    constexpr float kStep = 1e-2f;
    const float middle = number;
    number = middle + kStep;
    const double above = built.loss->evaluate({y.data(), shape}, targets, 1, {});
    number = middle - kStep;
    const double below = built.loss->evaluate({y.data(), shape}, targets, 1, {});
    number = middle;
    derivatives.push_back(static_cast<float>((above - below) / kStep));
  }
  CHECK(relative_difference(dy, derivatives) < 1e-3);
  y[7] = kNan;
  CHECK(std::isnan(built.loss->evaluate({y.data(), shape}, targets, 1, {})));
}

TEST_CASE("ctc refuses targets that the outputs cannot spell", "[losses]") {
  const BuiltLoss built("ctc");
  CHECK_THROWS_WITH(built.loss->setup({5, 3}, 3), Catch::Contains("as values"));
  CHECK_THROWS_WITH(built.loss->setup({5, 1}, 0), Catch::Contains("(positions, symbols)"));
  built.loss->setup({3, 3}, 0);
  CHECK_FALSE(built.loss->takes({3, 3}, {4}));
  const std::vector<float> y(9);
  const auto evaluate = [&](const std::vector<float>& target) {
    return built.loss->evaluate({y.data(), {1, 3, 3}}, {.values = {target.data(), {1, 3}}}, 1, {});
  };
  CHECK_NOTHROW(evaluate({1, 1, 0}));
  CHECK_THROWS_WITH(evaluate({1, 1, 2}), Catch::Contains("needs 4 positions, and the model gives 3"));
  CHECK_THROWS_WITH(evaluate({3, 0, 0}), Catch::Contains("whole numbers from 1 to 2"));
  CHECK_THROWS_WITH(evaluate({1.5f, 0, 0}), Catch::Contains("whole numbers"));
  CHECK_THROWS_WITH(evaluate({-1, 0, 0}), Catch::Contains("whole numbers"));
}

TEST_CASE("balanced weights give each class that occurs the same share, with mean 1", "[losses]") {
  const BuiltLoss built("softmax_cross_entropy: {class_weights: balanced}");
  built.loss->setup({4}, 4);
  REQUIRE(built.loss->requires_class_counts());
  const std::vector<std::int64_t> counts{60, 30, 0, 10};
  built.loss->use_class_counts(counts);
  const auto weights = built.loss->class_weights();
  REQUIRE(weights.size() == 4);
  CHECK(weights[0] == Approx(100.0 / (3 * 60)));
  CHECK(weights[1] == Approx(100.0 / (3 * 30)));
  CHECK(weights[2] == 0);
  CHECK(weights[3] == Approx(100.0 / (3 * 10)));
}

TEST_CASE("class weights are as many as classes", "[losses]") {
  CHECK_THROWS_WITH(BuiltLoss("softmax_cross_entropy: {class_weights: [1, 2]}").loss->setup({3}, 3),
                    Catch::Contains("2 class weights for 3 classes"));
}

}  // namespace
}  // namespace trainer
