// Compares metrics, initializers and transforms of images with other programs; checks that every member has a
// case.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <regex>

#include "datasets/transforms/colors.h"
#include "datasets/transforms/resample.h"
#include "datasets/transforms/tones.h"
#include "datasets/transforms/warp.h"
#include "models/initializers/initializer.h"
#include "models/metrics/metric.h"
#include "models/training/area_under_curve.h"
#include "tests/golden/golden_file.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

TEST_CASE("metrics agree with scikit-learn", "[golden]") {
  for (const TensorFile& golden : golden_cases("metric")) {
    INFO(golden.metadata.at("name"));
    const NamedTensor& y = tensor(golden, "y");
    const std::vector<std::int32_t> labels = labels_of(golden);
    Targets targets{.labels = labels};
    if (labels.empty())
      targets.values = {tensor(golden, "values").values.data(), tensor(golden, "values").shape};
    const ConfigTree tree = ConfigTree::member("metric", golden.metadata.at("yaml"));
    const auto metric = Registry<Metric>::make(tree.root());
    metric->setup(y.shape.without_front(), labels.empty() ? 0 : static_cast<int>(y.shape[1]));
    // Rows go in one by one, as if each came from another rank.
    std::vector<double> sums(static_cast<std::size_t>(metric->sums()));
    ClassScores scores;
    const ConstTensor all(y.values.data(), y.shape);
    for (std::int64_t row = 0; row < all.rows(); ++row) {
      metric->add(all.rows(row, 1), targets.rows(row, 1), sums);
      if (metric->requires_scores()) metric->collect(all.rows(row, 1), targets.rows(row, 1), scores);
    }
    const double expected = std::stod(golden.metadata.at("value"));
    if (metric->requires_scores())
      CHECK(area_under_curve(scores, *solo()) == Approx(expected).epsilon(1e-12));
    else
      CHECK(metric->value(sums, static_cast<double>(all.rows())) == Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("initial weights are distributed as PyTorch's", "[golden]") {
  for (const TensorFile& golden : golden_cases("initializer")) {
    INFO(golden.metadata.at("name"));
    const std::vector<std::int32_t> sample = integers_of(golden, "sample");
    const LayerHarness harness(golden.metadata.at("yaml"),
                               Shape(std::vector<std::int64_t>(sample.begin(), sample.end())), {});
    std::vector<Parameter> weights{harness.parameters().front()};
    weights.front().offset = 0;
    std::vector<float> values(static_cast<std::size_t>(weights.front().shape.size()));
    initialize(weights, 1, values);
    std::ranges::sort(values);
    const std::vector<float>& quantiles = tensor(golden, "quantiles").values;
    const double deviation = static_cast<double>(tensor(golden, "deviation").values[0]);
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
      const double share = 0.02 + 0.96 * static_cast<double>(i) / static_cast<double>(quantiles.size() - 1);
      const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
      INFO("quantile " << share);
      CHECK(values[place] == Approx(quantiles[i]).margin(0.04 * deviation + 1e-6).epsilon(0));
    }
  }
}

TEST_CASE("images are moved as torchvision moves them", "[golden]") {
  for (const TensorFile& golden : golden_cases("warp")) {
    INFO(golden.metadata.at("name"));
    const NamedTensor& x = tensor(golden, "x");
    std::vector<float> image = in_memory_order(x), scratch(image.size());
    const std::vector<float>& map = tensor(golden, "map").values;
    warp(image.data(), {.height = x.shape[2], .width = x.shape[3], .channels = x.shape[1]},
         {.row_row = map[4],
          .row_column = map[3],
          .column_row = map[1],
          .column_column = map[0],
          .row_shift = map[5],
          .column_shift = map[2]},
         scratch);
    CHECK(relative_difference(image, in_memory_order(tensor(golden, "y"))) < 1e-5);
  }
}

TEST_CASE("images are scaled as torchvision scales them", "[golden]") {
  for (const TensorFile& golden : golden_cases("resize")) {
    INFO(golden.metadata.at("name"));
    const NamedTensor &x = tensor(golden, "x"), &y = tensor(golden, "y");
    const ImageExtents in{.height = x.shape[2], .width = x.shape[3], .channels = x.shape[1]};
    const ImageExtents out{.height = y.shape[2], .width = y.shape[3], .channels = y.shape[1]};
    std::vector<float> scaled(y.values.size()),
        scratch(static_cast<std::size_t>(resample_scratch(in, out.width)));
    resample(in_memory_order(x).data(), in,
             {.height = static_cast<double>(in.height), .width = static_cast<double>(in.width)},
             scaled.data(), out, scratch);
    CHECK(relative_difference(scaled, in_memory_order(y)) < 1e-5);
  }
}

TEST_CASE("colours of images change as torchvision changes them", "[golden]") {
  std::vector<float> scratch;
  const std::map<std::string, std::function<void(ColorImage, float)>> changes{
      {"brightness", change_brightness},
      {"contrast", change_contrast},
      {"saturation", change_saturation},
      {"hue", turn_hue},
      {"sharpness",
       [&](ColorImage image, float factor) {
         scratch.resize(static_cast<std::size_t>(image.extents.size()));
         change_sharpness(image, factor, scratch);
       }},
      {"solarize", solarize},
      {"posterize", [](ColorImage image, float bits) { posterize(image, static_cast<int>(bits)); }},
      {"autocontrast", [](ColorImage image, float) { autocontrast(image); }},
      {"equalize", [](ColorImage image, float) { equalize(image); }}};
  for (const TensorFile& golden : golden_cases("color")) {
    INFO(golden.metadata.at("name"));
    const NamedTensor& x = tensor(golden, "x");
    std::vector<float> image = in_memory_order(x);
    changes.at(golden.metadata.at("change"))(
        {image.data(), {.height = x.shape[2], .width = x.shape[3], .channels = x.shape[1]}},
        std::stof(golden.metadata.at("factor")));
    CHECK(relative_difference(image, in_memory_order(tensor(golden, "y"))) < 1e-5);
  }
}

/// Members without a case, and the reason.
const std::map<std::string, std::string> kWithoutCase{
    {"initializer sparse", "goes by outputs, as Martens 2010 does; PyTorch's goes by inputs"},
    {"initializer file", "reads weights, and draws none"},
    {"metric program", "its score is that of the user's program"},
    {"initializer whitening", "follows the training images: tests/models/initializers"},
};

TEST_CASE("every layer, activation, loss, optimizer, schedule, initializer and metric has a golden case",
          "[golden]") {
  const auto mentions = [](const TensorFile& golden, const std::string& pattern) {
    return std::regex_search(golden.metadata.at("yaml"), std::regex(pattern));
  };
  for (const std::string family : {"layer", "loss", "optimizer", "schedule", "initializer", "metric"}) {
    const std::vector<TensorFile> files = golden_cases(family);
    for (const auto& [name, declaration] : Catalog::all().at(family).members) {
      INFO(family << " " << name << ": neither a golden case nor a reason why not");
      // Layers that are activations of others are not meant by those.
      const std::string pattern = "(^|[^:] |\\[|\\{)" + name + "\\b";
      const bool held = std::ranges::any_of(files, [&, &n = name](const TensorFile& golden) {
        return mentions(golden, family == "layer" ? pattern : fmt::format("\\b{}\\b", n));
      });
      CHECK(held != kWithoutCase.contains(fmt::format("{} {}", family, name)));
      for (const Setting& setting : declaration.settings)
        if (family == "layer" && name == "dense" && setting.name == "activation")
          for (const std::string& activation : setting.choices) {
            INFO("activation " << activation);
            CHECK((activation == "none" || std::ranges::any_of(files, [&](const TensorFile& golden) {
                     return mentions(golden, "activation: " + activation + "\\b");
                   })));
          }
    }
  }
}

}  // namespace
}  // namespace trainer
