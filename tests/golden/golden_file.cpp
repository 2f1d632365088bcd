#include "tests/golden/golden_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <sstream>

namespace trainer {

namespace {

/// Case/tensor, case/key -> the case, and what follows.
std::pair<std::string, std::string> split(const std::string& name) {
  const std::size_t slash = name.find('/');
  REQUIRE(slash != std::string::npos);
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::map<std::string, TensorFile> read_cases() {
  std::map<std::string, TensorFile> cases;
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_FOLDER)) {
    if (entry.path().extension() != ".safetensors") continue;
    TensorFile subject = read_safetensors(entry.path());
    for (const auto& [name, value] : subject.metadata) {
      const auto [owner, key] = split(name);
      cases[owner].metadata[key] = value;
    }
    for (NamedTensor& tensor : subject.tensors) {
      auto [owner, rest] = split(tensor.name);
      tensor.name = std::move(rest);
      cases.at(owner).tensors.push_back(std::move(tensor));
    }
  }
  return cases;
}

}  // namespace

std::vector<TensorFile> golden_cases(const std::string& kind) {
  static const std::map<std::string, TensorFile> cases = read_cases();
  std::vector<TensorFile> files;
  for (const auto& [name, given] : cases) {
    if (given.metadata.at("kind") != kind) continue;
    files.push_back(given);
    files.back().metadata["name"] = name;
  }
  REQUIRE(!files.empty());
  return files;
}

const NamedTensor* find(const TensorFile& golden, const std::string& name) {
  const auto found = std::ranges::find(golden.tensors, name, &NamedTensor::name);
  return found == golden.tensors.end() ? nullptr : &*found;
}

const NamedTensor& tensor(const TensorFile& golden, const std::string& name) {
  const NamedTensor* found = find(golden, name);
  INFO(name);
  REQUIRE(found);
  return *found;
}

Shape sample_of(const NamedTensor& batch) {
  const Shape& shape = batch.shape;
  return shape.rank() == 4 ? Shape{shape[2], shape[3], shape[1]} : shape.without_front();
}

std::vector<float> in_memory_order(const NamedTensor& batch) {
  if (batch.shape.rank() != 4) return batch.values;
  const std::int64_t channels = batch.shape[1], positions = batch.shape[2] * batch.shape[3];
  std::vector<float> result;
  for (std::int64_t row = 0; row < batch.shape[0]; ++row)
    for (std::int64_t position = 0; position < positions; ++position)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        result.push_back(
            batch.values[static_cast<std::size_t>((row * channels + channel) * positions + position)]);
  return result;
}

std::vector<std::int32_t> labels_of(const TensorFile& golden) {
  std::vector<std::int32_t> labels;
  if (const NamedTensor* given = find(golden, "labels"))
    for (const float label : given->values) labels.push_back(static_cast<std::int32_t>(label));
  return labels;
}

std::vector<std::int32_t> integers_of(const TensorFile& golden, const std::string& key) {
  std::vector<std::int32_t> integers;
  if (const auto found = golden.metadata.find(key); found != golden.metadata.end()) {
    std::istringstream text(found->second);
    for (std::int32_t integer = 0; text >> integer;) integers.push_back(integer);
  }
  return integers;
}

}  // namespace trainer
