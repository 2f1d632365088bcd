// The check of gradients that `trainer check --gradients` makes.
#include "models/runs/gradient_check.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>

#include "engine/config/config_tree.h"
#include "models/layers/layer.h"
#include "tests/models/training/placed_run.h"
#include "tests/support/noise_dataset.h"

namespace trainer {
namespace {

/// y = x, with `factor` times its derivative.
class Crooked final : public Layer {
 public:
  explicit Crooked(float factor) : factor_(factor) {}
  Shape setup(const Shape& sample, Plan&) override { return sample; }
  void forward(ConstTensor x, Tensor y, Pass&) override {
    ++forwards;
    std::ranges::copy(x.span(), y.span().begin());
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass&) override {
    if (!dx.empty())
      std::ranges::transform(dy.span(), dx.span().begin(), [&](float element) { return factor_ * element; });
  }

  static inline int forwards = 0;

 private:
  float factor_;
};

/// y = x + noise that depends on the bits of x: no differences of it agree.
class Rough final : public Layer {
 public:
  Shape setup(const Shape& sample, Plan&) override { return sample; }
  void forward(ConstTensor x, Tensor y, Pass&) override {
    constexpr std::uint32_t kMix = 2654435761;
    for (std::int64_t i = 0; i < x.size(); ++i)
      y[i] = x[i] + 0.01f * static_cast<float>((std::bit_cast<std::uint32_t>(x[i]) * kMix) >> 16) / 65536.0f;
  }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass&) override {
    if (!dx.empty()) std::ranges::copy(dy.span(), dx.span().begin());
  }
};

const Registry<Layer>::Add crooked{
    {.name = "crooked",
     .help = "for tests",
     .primary = "factor",
     .settings = {real("factor", "of the derivative")}},
    [](const Config& config) { return std::make_unique<Crooked>(config.get<float>("factor")); }};
const Registry<Layer>::Add rough{{.name = "rough", .help = "for tests", .primary = "", .settings = {}},
                                 [](const Config&) { return std::make_unique<Rough>(); }};

using Report = std::function<void(const CheckedGradient&)>;

std::vector<CheckedGradient> check(const std::string& layers, const Report& report = {}) {
  const std::string loss = layers == kSpoken ? "ctc" : "softmax_cross_entropy";
  const ConfigTree tree({.file = "test.yaml",
                         .text = "data: {dataset: digits}\nmodel: {layers: " + layers + ", loss: " + loss +
                                 "}\ntrain: {batch: 6, epochs: 1, optimizer: {sgd: {lr: 0.1}}}\n",
                         .overrides = {}},
                        run_settings());
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  Data data{.name = "noise", .train = samples_for(layers, 30, 1)};
  Session session(tree.root(), std::move(data), mesh, pool);
  std::vector<CheckedGradient> checked;
  check_gradients(tree.root(), session, [&](const CheckedGradient& one) {
    if (report) report(one);
    checked.push_back(one);
  });
  return checked;
}

}  // namespace

TEST_CASE("gradients of sound networks agree with differences of the loss", "[1 rank]") {
  for (const char* layers : {kMlp, kPairs, kConvnet, kRagged, kSpoken}) {
    INFO(layers);
    const std::vector<CheckedGradient> checked = check(layers);
    CHECK(checked.size() >= 4);
    for (const CheckedGradient& one : checked) {
      INFO(one.layer << "." << one.parameter << " " << one.worst_error << " in " << one.decided);
      CHECK(one.is_right());
    }
    // The bias before batch_norm has no gradient.
    CHECK(std::ranges::count(checked, 0, &CheckedGradient::decided) <= 1);
  }
}

TEST_CASE("a derivative that is a twentieth too small makes the layers before it wrong, and no other",
          "[1 rank]") {
  const std::vector<CheckedGradient> checked =
      check("[{dense: {units: 12, activation: tanh}}, {crooked: 0.95}, {dense: 10}]");
  REQUIRE(checked.size() == 4);
  for (const CheckedGradient& one : checked) {
    INFO(one.layer << "." << one.parameter << " " << one.worst_error);
    CHECK(one.is_right() == (one.layer == "dense2"));
    if (one.layer == "dense1") CHECK(one.worst_error == Approx(0.05).epsilon(0.3));
  }
}

TEST_CASE("a gradient that is forgotten is wrong by all of itself", "[1 rank]") {
  const std::vector<CheckedGradient> checked =
      check("[{dense: {units: 12, bias: false}}, {crooked: 0}, {dense: 10}]");
  REQUIRE(checked.size() == 3);
  CHECK(checked[0].worst_error == Approx(1).epsilon(0.02));
  CHECK(checked[1].is_right());
  CHECK(checked[2].is_right());
}

TEST_CASE("a parameter is reported before the next one is compared", "[1 rank]") {
  std::vector<int> forwards{Crooked::forwards};
  check("[{dense: {units: 12}}, {crooked: 1}, {dense: 10}]",
        [&](const CheckedGradient&) { forwards.push_back(Crooked::forwards); });
  REQUIRE(forwards.size() == 5);
  CHECK(std::ranges::adjacent_find(forwards, std::greater_equal{}) == forwards.end());
}

TEST_CASE("a loss without a derivative leaves a gradient undecided, not wrong", "[1 rank]") {
  const std::vector<CheckedGradient> checked =
      check("[{dense: {units: 12, bias: false}}, rough, {dense: 10}]");
  REQUIRE(checked.size() == 3);
  CHECK(checked[0].norm > 0);
  CHECK(checked[0].decided == 0);
  CHECK(checked[0].is_right());
  CHECK(checked[2].decided > 0);
  CHECK(checked[2].is_right());
}

}  // namespace trainer
