#include "tests/golden/golden_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

namespace trainer {

std::vector<TensorFile> files_of_kind(const std::string& kind) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_FOLDER))
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<TensorFile> files;
  for (const auto& path : paths) {
    TensorFile file = read_safetensors(path);
    if (file.metadata.at("kind") != kind) continue;
    file.metadata["name"] = path.stem();
    files.push_back(std::move(file));
  }
  REQUIRE(!files.empty());
  return files;
}

const NamedTensor* find(const TensorFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

const NamedTensor& tensor(const TensorFile& file, const std::string& name) {
  const NamedTensor* found = find(file, name);
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

std::vector<std::int32_t> labels_of(const TensorFile& file) {
  std::vector<std::int32_t> labels;
  if (const NamedTensor* given = find(file, "labels"))
    for (const float label : given->values) labels.push_back(static_cast<std::int32_t>(label));
  return labels;
}

std::vector<std::int32_t> integers_of(const TensorFile& file, const std::string& key) {
  std::vector<std::int32_t> numbers;
  if (const auto found = file.metadata.find(key); found != file.metadata.end()) {
    std::istringstream text(found->second);
    for (std::int32_t number = 0; text >> number;) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace trainer
