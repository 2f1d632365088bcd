// What metrics of a run compare with targets.
#include <catch2/catch.hpp>

#include "tests/models/training/built_session.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

TEST_CASE("mae of a run with a loss on logits compares probabilities with targets", "[training]") {
  const auto alone = solo();
  const auto mae = [&](const std::string& loss) {
    BuiltSession built(*alone,
                       {"[{dense: {units: 10, init: {constant: 0}}}]", loss,
                        "optimizer: {sgd: {lr: 0.5}}, steps: 0, batch: 7, metrics: [mae]"},
                       {.name = "noise",
                        .train = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1),
                        .test = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1)});
    return built.train(TemporaryFolder().path()).back();
  };
  // All outputs are 0; one of ten targets is 1.
  CHECK(mae("mse") == Approx(0.1));
  CHECK(mae("sigmoid_cross_entropy") == Approx(0.5));
  CHECK(mae("softmax_cross_entropy") == Approx((0.9 + 9 * 0.1) / 10));
}

TEST_CASE("a run reports the auc of several classes", "[training]") {
  const auto alone = solo();
  BuiltSession built(*alone,
                     {"[{dense: 10}]", "softmax_cross_entropy",
                      "optimizer: {sgd: {lr: 0.5}}, steps: 1, batch: 7, metrics: [{auc: 0}, {auc: 3}]"},
                     {.name = "noise",
                      .train = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1),
                      .test = std::make_unique<NoiseDataset>(20, Shape{4, 4, 1}, 10, 1)});
  CHECK(built.session().metric_facts()[0].name == "auc_0");
  CHECK(built.session().metric_facts()[1].name == "auc_3");
  const std::vector<double> end = built.train(TemporaryFolder().path());
  CHECK(end[end.size() - 1] != end[end.size() - 2]);
}

}  // namespace trainer
