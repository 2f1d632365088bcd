#include "models/initializers/initializer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "engine/config/config_tree.h"
#include "models/initializers/whitening.h"
#include "models/network/network.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// Parameters with an `init`, and the values they begin with.
class Initialized {
 public:
  Initialized(const std::string& init, std::vector<Parameter> parameters, std::uint64_t seed = 1)
      : tree_(ConfigTree::member("initializer", init)) {
    std::int64_t end = 0;
    for (Parameter& parameter : parameters) {
      if (parameter.is_weight) parameter.init = tree_.root();
      parameter.offset = end;
      end += parameter.shape.size();
    }
    values.resize(static_cast<std::size_t>(end));
    initialize(parameters, seed, values);
  }
  std::vector<float> values;

 private:
  ConfigTree tree_;
};

Parameter weight(const std::string& name = "dense1.weight") {
  return {.name = name, .shape = {40, 60}, .fan_in = 40, .fan_out = 60};
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += (value - mean(values)) * (value - mean(values));
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_CASE("initializers have the spread they promise", "[initializers]") {
  const auto [init, limit, spread, middle] = GENERATE(table<std::string, double, double, double>({
      {"uniform: 0.1", 0.1, 0.1 / std::sqrt(3), 0},
      {"glorot", std::sqrt(6.0 / 100), std::sqrt(2.0 / 100), 0},
      {"normal: 0.2", 2, 0.2, 0},
      {"normal: {std: 0.2, mean: 1}", 3, 0.2, 1},
      {"he", 2, std::sqrt(2.0 / 40), 0},
      {"constant: 0.5", 0.5, 0, 0.5},
      {"uniform: {low: 0.1, limit: 0.3}", 0.3, 0.1 / std::sqrt(3), 0.2},
      {"glorot: 2", 2 * std::sqrt(6.0 / 100), 2 * std::sqrt(2.0 / 100), 0},
      {"he_uniform", std::sqrt(6.0 / 40), std::sqrt(2.0 / 40), 0},
      {"lecun_uniform", std::sqrt(3.0 / 40), std::sqrt(1.0 / 40), 0},
      {"glorot_normal", 2, std::sqrt(2.0 / 100), 0},
      {"he: 0.5", 2, 0.5 * std::sqrt(2.0 / 40), 0},
      // The deviation of a normal distribution between -2 and 2.
      {"truncated_normal: 0.1", 0.2, 0.0879626, 0},
      {"truncated_normal: {std: 0.1, mean: 1, limit: 1}", 1.1, 0.0539560, 1},
  }));
  INFO(init);
  const std::vector<float> values = Initialized(init, {weight()}).values;
  CHECK(
      std::ranges::all_of(values, [limit = limit](float value) { return std::fabs(value) <= limit + 1e-6; }));
  CHECK(mean(values) == Approx(middle).margin(0.02));
  CHECK(deviation(values) == Approx(spread).epsilon(0.05).margin(1e-6));
}

TEST_CASE("biases and norms begin at their constant, whatever the init", "[initializers]") {
  const Parameter norm{.name = "batch_norm1.weight", .shape = {3}, .is_weight = false, .constant = 1};
  const Parameter bias{.name = "dense1.bias", .shape = {2}, .is_weight = false};
  CHECK(Initialized("uniform: 0.1", {norm, bias}).values == std::vector<float>{1, 1, 1, 0, 0});
}

TEST_CASE("first values follow from the seed and the name alone", "[initializers]") {
  const auto alone = Initialized("glorot", {weight("b")}).values;
  const auto run_collectively = Initialized("glorot", {weight("a"), weight("b")}).values;
  CHECK(std::equal(alone.begin(), alone.end(), run_collectively.begin() + 40 * 60));
  CHECK_FALSE(std::equal(alone.begin(), alone.end(), run_collectively.begin()));
  CHECK(Initialized("glorot", {weight("b")}, 2).values != alone);
}

TEST_CASE("a shard begins with its part of the whole", "[initializers]") {
  const auto* const init = GENERATE("glorot", "he", "uniform: 0.1");
  const auto whole = Initialized(init, {weight()}).values;
  for (const int axis : {0, 1}) {
    Parameter shard = weight();
    shard.whole = shard.shape;
    shard.shard_axis = axis;
    shard.shard_first = 7;
    shard.shape = axis == 0 ? Shape{11, 60} : Shape{40, 11};
    const auto part = Initialized(init, {shard}).values;
    std::vector<float> expected;
    for (std::int64_t row = 0; row < shard.shape[0]; ++row)
      for (std::int64_t column = 0; column < shard.shape[1]; ++column)
        expected.push_back(
            whole[static_cast<std::size_t>((row + (axis == 0 ? 7 : 0)) * 60 + column + (axis == 1 ? 7 : 0))]);
    CHECK(part == expected);
  }
}

TEST_CASE("the identity leaves outputs beyond the inputs to another initializer", "[initializers]") {
  const Parameter wide{.name = "w", .shape = {3, 3, 2, 5}, .fan_in = 18, .fan_out = 45};
  const auto values = Initialized("identity: {rest: {constant: 0.5}}", {wide}).values;
  for (std::size_t place = 0; place < 9; ++place)
    for (std::size_t input = 0; input < 2; ++input)
      for (std::size_t output = 0; output < 5; ++output)
        CHECK(values[(place * 2 + input) * 5 + output] == (output >= 2                     ? 0.5f
                                                           : place == 4 && input == output ? 1.0f
                                                                                           : 0.0f));
}

TEST_CASE("whitened filters have outputs of covariance 1 over the patches of the images", "[initializers]") {
  const NoiseDataset images(300, {6, 7, 2}, 3, 1);
  const ConfigTree tree = ConfigTree::member("initializer", "whitening: 1.0e-9");
  constexpr std::int64_t kSize = 2 * 2 * 2, kFilters = 2 * kSize;
  const Parameter kernel{.name = "conv1.weight",
                         .shape = {2, 2, 2, kFilters},
                         .layout = FileLayout::convolution,
                         .init = tree.root()};
  std::vector<float> values(kSize * kFilters);
  whiten(kernel, images, values);
  std::vector<double> covariance(kFilters * kFilters);
  double patches = 0;
  std::vector<float> image(6 * 7 * 2);
  for (std::int64_t index = 0; index < images.size(); ++index) {
    images.read({&index, 1}, {image.data(), {1, 6, 7, 2}});
    for (std::size_t row = 0; row < 5; ++row)
      for (std::size_t column = 0; column < 6; ++column, ++patches) {
        std::vector<double> outputs(kFilters);
        for (std::size_t i = 0; i < kSize; ++i)
          for (std::size_t filter = 0; filter < kFilters; ++filter)
            outputs[filter] +=
                static_cast<double>(values[i * kFilters + filter]) *
                static_cast<double>(image[((row + i / 4) * 7 + column + i / 2 % 2) * 2 + i % 2]);
        for (std::size_t a = 0; a < kFilters; ++a)
          for (std::size_t b = 0; b < kFilters; ++b) covariance[a * kFilters + b] += outputs[a] * outputs[b];
      }
  }
  for (std::size_t a = 0; a < kFilters; ++a)
    for (std::size_t b = 0; b < kFilters; ++b)
      CHECK(covariance[a * kFilters + b] / patches == Approx(a == b                   ? 1
                                                             : a % kSize == b % kSize ? -1
                                                                                      : 0)
                                                          .margin(1e-3));
}

TEST_CASE("whitening refuses what is no first convolution of images, and too many filters",
          "[initializers]") {
  const ConfigTree tree = ConfigTree::member("initializer", "whitening");
  Parameter kernel{
      .name = "conv1.weight", .shape = {2, 2, 2, 17}, .layout = FileLayout::convolution, .init = tree.root()};
  const std::string other = "not the kernel of a first convolution";
  CHECK_THROWS_WITH(check_whitening(kernel, {6, 6, 2}), Catch::Contains("at most 16 filters"));
  CHECK_THROWS_WITH(check_whitening(kernel, {6, 6, 3}), Catch::Contains(other));
  CHECK_THROWS_WITH(check_whitening(kernel, {6}), Catch::Contains(other));
  kernel.offset = 16;
  CHECK_THROWS_WITH(check_whitening(kernel, {6, 6, 2}), Catch::Contains(other));
}

TEST_CASE("orthogonal weights have unit vectors at right angles along the longer extent", "[initializers]") {
  const auto [rows, columns] =
      GENERATE(table<std::int64_t, std::int64_t>({{40, 60}, {60, 40}, {7, 7}, {5, 1}}));
  const auto values = Initialized("orthogonal: 2", {{.name = "w", .shape = {rows, columns}}}).values;
  const bool along_rows = rows >= columns;
  const std::int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  const auto at = [&, columns = columns](std::int64_t vector, std::int64_t i) {
    return static_cast<double>(
        values[static_cast<std::size_t>(along_rows ? i * columns + vector : vector * columns + i)]);
  };
  for (std::int64_t a = 0; a < count; ++a)
    for (std::int64_t b = 0; b <= a; ++b) {
      double dot = 0;
      for (std::int64_t i = 0; i < length; ++i) dot += at(a, i) * at(b, i);
      CHECK(dot == Approx(a == b ? 4 : 0).margin(1e-5));
    }
}

TEST_CASE("identity passes inputs on, in a convolution from the middle of the filter", "[initializers]") {
  CHECK(Initialized("identity", {{.name = "w", .shape = {2, 3}}}).values ==
        std::vector<float>{1, 0, 0, 0, 1, 0});
  const auto filter = Initialized("identity: 0.5", {{.name = "w", .shape = {3, 3, 1, 2}}}).values;
  for (std::size_t i = 0; i < filter.size(); ++i) CHECK(filter[i] == (i == 8 ? 0.5f : 0));
  CHECK(Initialized("identity", {{.name = "w", .shape = {1, 1, 2, 4}, .groups = 2}}).values ==
        std::vector<float>{1, 0, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("sparse gives every output as many weights as asked, or all it has", "[initializers]") {
  for (const std::int64_t count : {3, 40, 100}) {
    const auto values = Initialized("sparse: " + std::to_string(count), {weight()}).values;
    for (std::size_t output = 0; output < 60; ++output) {
      std::int64_t found = 0;
      for (std::size_t input = 0; input < 40; ++input) found += values[input * 60 + output] != 0;
      CHECK(found == std::min<std::int64_t>(count, 40));
    }
  }
}

TEST_CASE("sparse square weights have the largest eigenvalue that is asked for, others stay",
          "[initializers]") {
  constexpr std::size_t kSize = 50;
  const Parameter square{.name = "rnn1.weight_hh_l0", .shape = {kSize, kSize}};
  const auto plain = Initialized("sparse: {count: 15, std: 0.3}", {square}).values;
  const auto scaled = Initialized("sparse: {count: 15, std: 0.3, eigenvalue: 1.2}", {square}).values;
  // The 4096th root of the length of the 4096th power.
  std::vector<double> power(scaled.begin(), scaled.end());
  double logarithm = 0;
  for (int squaring = 0; squaring < 12; ++squaring) {
    std::vector<double> product(power.size());
    for (std::size_t row = 0; row < kSize; ++row)
      for (std::size_t k = 0; k < kSize; ++k)
        for (std::size_t column = 0; column < kSize; ++column)
          product[row * kSize + column] += power[row * kSize + k] * power[k * kSize + column];
    double largest = 0;
    for (const double number : product) largest = std::max(largest, std::fabs(number));
    for (double& number : product) number /= largest;
    logarithm = 2 * logarithm + std::log(largest);
    power = product;
  }
  CHECK(std::exp(logarithm / 4096) == Approx(1.2).epsilon(0.005));
  const float factor = *std::ranges::max_element(scaled) / *std::ranges::max_element(plain);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(scaled[i] == Approx(factor * plain[i]));
  CHECK(Initialized("sparse: {eigenvalue: 1.2}", {weight()}).values ==
        Initialized("sparse", {weight()}).values);
}

TEST_CASE("limits of a uniform initializer that are the wrong way round are an error", "[initializers]") {
  CHECK_THROWS_WITH(Initialized("uniform: -0.1", {weight()}), Catch::Contains("limit"));
  CHECK_THROWS_WITH(Initialized("uniform: {low: 1, limit: 0.5}", {weight()}), Catch::Contains("low"));
}

TEST_CASE("weights begin with what a file holds, by the layer's name or another one", "[initializers]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "a.safetensors").string(),
                    npy = (folder.path() / "a.npy").string();
  // As PyTorch shapes a layer of 3 inputs and 2 outputs.
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6}, turned{1, 4, 2, 5, 3, 6};
  const std::vector<NamedView> views{{"dense1.weight", ConstTensor(numbers.data(), {2, 3})},
                                     {"features.0.weight", ConstTensor(turned.data(), {2, 3})}};
  write_safetensors(file, views);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream(npy, std::ios::binary) << "\x93NUMPY" << '\1' << '\0' << 'v' << '\0' << header
                                       << std::string(reinterpret_cast<const char*>(numbers.data()), 24);
  const Parameter dense{
      .name = "dense1.weight", .shape = {3, 2}, .layer = "dense1", .layout = FileLayout::dense};
  CHECK(Initialized("file: " + file, {dense}).values == turned);
  CHECK(Initialized("file: " + npy, {dense}).values == turned);
  CHECK(Initialized("file: {path: " + file + ", layer: features.0}", {dense}).values ==
        std::vector<float>{1, 5, 4, 3, 2, 6});

  const ConfigTree named = ConfigTree::member("layer", R"(dense: {units: 2, bias: false, name: layer1.0.fc,
      init: {file: {path: )" + file + ", layer: features.0}}}");
  const Network network({named.root()}, Shape{3}, {.batch = 1});
  std::vector<float> values(6);
  initialize(network.plan().parameters(), 1, values);
  CHECK(values == std::vector<float>{1, 5, 4, 3, 2, 6});

  Parameter other = dense;
  other.name = "dense2.weight";
  CHECK_THROWS_WITH(Initialized("file: " + file, {other}),
                    Catch::Contains("no dense2.weight") && Catch::Contains("features.0.weight"));
  other.shape = {2, 3};
  CHECK_THROWS_WITH(Initialized("file: " + npy, {other}),
                    Catch::Contains("dense2.weight is 3x2, the file has 2x3") && Catch::Contains(npy));
  CHECK_THROWS_WITH(Initialized("file: nowhere.safetensors", {dense}),
                    Catch::Contains("nowhere.safetensors"));
  CHECK_THROWS_WITH(Initialized("file: nowhere.npy", {dense}), Catch::Contains("nowhere.npy"));
  CHECK_THROWS_WITH(Initialized("file: {path: " + npy + ", layer: a}", {dense}),
                    Catch::Contains("one array"));
}

}  // namespace
}  // namespace trainer
