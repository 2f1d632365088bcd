#include "models/checkpoints/weights.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"
#include "models/checkpoints/imported_weights.h"
#include "models/layers/nested_plan.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// A dense layer of 2 inputs and 3 units whose rank holds units [1, 3), and a running mean.
void declare_shard(NetworkPlan& plan) {
  NestedPlan nested(plan);
  nested.begin_layer(nullptr, "dense", "");
  plan.parameter({.name = "weight",
                  .shape = {2, 2},
                  .layout = FileLayout::dense,
                  .shard_axis = 1,
                  .shard_first = 1,
                  .whole = Shape{2, 3}});
  plan.state({.name = "running_mean", .shape = {2}});
}

std::string write(const TemporaryFolder& folder, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedView> views;
  views.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  const auto path = folder.path() / "weights.safetensors";
  write_safetensors(path, views);
  return path.string();
}

}  // namespace

TEST_CASE("a rank takes its shard of a file's tensors, and states whole", "[training]") {
  const TemporaryFolder folder;
  const std::string path = write(
      folder, {{"dense1.weight", {3, 2}, {11, 21, 12, 22, 13, 23}}, {"dense1.running_mean", {2}, {7, 8}}});
  NetworkPlan plan(1);
  declare_shard(plan);
  std::vector<float> values(static_cast<std::size_t>(plan.parameter_end())),
      states(static_cast<std::size_t>(plan.state_end()));
  load_weights(path, plan, values, states);
  values.resize(4);
  states.resize(2);
  CHECK(values == std::vector<float>{12, 13, 22, 23});  // (in, out), units 1 and 2
  CHECK(states == std::vector<float>{7, 8});
}

TEST_CASE("layers that are excepted keep their values, whatever the file holds of them", "[training]") {
  const TemporaryFolder folder;
  const std::string path = write(
      folder,
      {{"dense1.weight", {3, 5}, std::vector<float>(15)}, {"other", {1}, {0}}, {"dense2.bias", {2}, {7, 8}}});
  NetworkPlan plan(1);
  declare_shard(plan);
  NestedPlan nested(plan);
  nested.begin_layer(nullptr, "dense", "");
  plan.parameter({.name = "bias", .shape = {2}, .is_weight = false});
  std::vector<float> values(static_cast<std::size_t>(plan.parameter_end()), 1),
      states(static_cast<std::size_t>(plan.state_end()), 2);
  import_weights({.file = path, .except = {"dense1"}}, plan, values, states);
  CHECK(values[0] == 1);
  CHECK(states[0] == 2);
  CHECK(values[static_cast<std::size_t>(plan.parameters()[1].offset)] == 7);
  CHECK_THROWS_WITH(match_weights({.file = path}, plan),
                    Catch::Contains("dense1.weight is 3x5, the model expects 3x2"));
  CHECK_THROWS_WITH(match_weights({.file = path, .except = {"dense"}}, plan),
                    Catch::Contains("no layer `dense`"));
}

TEST_CASE("tensors of other programs get the names of the model, and those of no use are listed",
          "[training]") {
  const TemporaryFolder folder;
  const std::string path = write(folder, {{"features.fc.weight", {3, 2}, {11, 21, 12, 22, 13, 23}},
                                          {"features.fc.running_mean", {2}, {7, 8}},
                                          {"classifier.weight", {1}, {0}}});
  NetworkPlan plan(1);
  declare_shard(plan);
  std::vector<float> values(static_cast<std::size_t>(plan.parameter_end())),
      states(static_cast<std::size_t>(plan.state_end()));
  const WeightMatch match = import_weights(
      {.file = path, .names = NameMap({{"*.fc", "dense1"}, {"class*", "head"}})}, plan, values, states);
  CHECK(std::vector<float>(values.begin(), values.begin() + 4) == std::vector<float>{12, 13, 22, 23});
  CHECK(states[1] == 8);
  REQUIRE(match.taken.size() == 2);
  CHECK(match.taken[0].name == "dense1.weight");
  CHECK(match.taken[0].name_in_file == "features.fc.weight");
  CHECK(match.taken[0].shape == Shape{3, 2});
  REQUIRE(match.unused.size() == 1);
  CHECK(match.unused[0].name == "classifier.weight");
}

TEST_CASE("names that do not match are reported with shapes and the nearest name", "[training]") {
  const TemporaryFolder folder;
  const std::string path = write(folder, {{"dense.weight", {3, 2}, std::vector<float>(6)},
                                          {"fc.running_mean", {3}, {7, 8, 9}},
                                          {"fc2.running_mean", {2}, {7, 8}}});
  NetworkPlan plan(1);
  declare_shard(plan);
  const auto message = [&](const std::vector<NameMap::Rule>& rules) -> std::string {
    try {
      match_weights({.file = path, .names = NameMap(rules)}, plan);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::weights);
      return error.what();
    }
    return "";
  };
  CHECK_THAT(message({{"fc", "dense1"}}),
             Catch::Contains("fc.running_mean, here dense1.running_mean, is 3, the model expects 2") &&
                 Catch::Contains("the file has no dense1.weight 3x2, but dense.weight 3x2"));
  CHECK_THAT(message({{"fc*", "dense1"}}),
             Catch::Contains("fc.running_mean and fc2.running_mean are both dense1.running_mean"));
  CHECK_THAT(message({{"dens", "dense1"}, {"fc2", "dense1"}}),
             Catch::Contains("no tensor of the file is left for the rule `dens`; it has dense"));
  CHECK(message({{"dense", "dense1"}, {"fc2", "dense1"}}).empty());
}

TEST_CASE("weights that do not fit are refused with every difference", "[training]") {
  const TemporaryFolder folder;
  const std::string path =
      write(folder, {{"dense1.weight", {3, 5}, std::vector<float>(15)}, {"dense9.bias", {1}, {0}}});
  NetworkPlan plan(1);
  declare_shard(plan);
  std::vector<float> values(static_cast<std::size_t>(plan.parameter_end())),
      states(static_cast<std::size_t>(plan.state_end()));
  try {
    load_weights(path, plan, values, states);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::weights);
    CHECK_THAT(error.what(), Catch::Contains("dense1.weight is 3x5, the model expects 3x2") &&
                                 Catch::Contains("the model has no dense9.bias") &&
                                 Catch::Contains("the file has no dense1.running_mean"));
  }
}

}  // namespace trainer
