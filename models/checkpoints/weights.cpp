#include "models/checkpoints/weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "models/checkpoints/expected_tensors.h"
#include "models/formats/layout.h"
#include "models/network/shard.h"

namespace trainer {
namespace {

/// Every difference between a file's tensors and the expected ones.
std::vector<std::string> differences(const std::vector<NamedTensor>& tensors,
                                     const std::map<std::string, ExpectedTensor>& expected) {
  std::vector<std::string> notes;
  std::set<std::string> found;
  for (const NamedTensor& tensor : tensors) {
    found.insert(tensor.name);
    const auto it = expected.find(tensor.name);
    if (it == expected.end())
      notes.push_back("the model has no " + tensor.name);
    else if (it->second.file_shape != tensor.shape)
      notes.push_back(tensor.name + " is " + tensor.shape.text() + ", the model expects " +
                      it->second.file_shape.text());
  }
  for (const auto& [name, tensor] : expected)
    if (!found.contains(name)) notes.push_back("the file has no " + name);
  return notes;
}

void require(const std::vector<NamedTensor>& tensors, const std::map<std::string, ExpectedTensor>& expected,
             const std::string& place, const std::string& help = "") {
  const std::vector<std::string> notes = differences(tensors, expected);
  if (!notes.empty()) fail_to_load(notes, place, help);
}

/// Broadcasts a tensor, which rank 0 finds among `tensors`.
void broadcast_tensor(const std::vector<NamedTensor>& tensors, const std::string& name,
                      std::span<float> values, Communicator& world) {
  if (world.rank() == 0)
    std::ranges::copy(std::ranges::find(tensors, name, &NamedTensor::name)->values, values.begin());
  world.broadcast(std::as_writable_bytes(values), 0);
}

}  // namespace

void check_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                   const std::vector<std::string>& suffixes, StateUse states, const std::string& place) {
  require(tensors, expected_tensors(plan, suffixes, states), place);
}

void spread_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                    const std::string& suffix, Communicator& world,
                    const std::function<void(const Parameter&, const TakeValues&)>& place) {
  for (const Parameter& parameter : plan.parameters()) {
    std::vector<float> whole(static_cast<std::size_t>(parameter.whole_shape().size()));
    broadcast_tensor(tensors, parameter.name + suffix, whole, world);
    place(parameter, [&](std::span<float> values) {
      take_shard(parameter, to_memory_layout(parameter.layout, parameter.whole_shape(), whole), values);
    });
  }
}

void spread_tensors(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan,
                    const std::string& suffix, const FlatValues<float>& values, Communicator& world) {
  spread_tensors(tensors, plan, suffix, world, [&](const Parameter& parameter, const TakeValues& take) {
    take(values.subspan(parameter.offset, parameter.shape.size()));
  });
}

void spread_states(const std::vector<NamedTensor>& tensors, const NetworkPlan& plan, StateUse use,
                   std::span<float> states, Communicator& world) {
  for (const State& state : plan.states())
    if (state.use == use)
      broadcast_tensor(tensors, state.name,
                       states.subspan(static_cast<std::size_t>(state.offset),
                                      static_cast<std::size_t>(state.shape.size())),
                       world);
}

std::vector<float> whole_tensor(const Parameter& parameter, std::span<const float> mine,
                                Communicator& model) {
  if (parameter.shard_axis < 0) return {mine.begin(), mine.end()};
  // Each message begins with the place of the shard, since shards may be unequal.
  const std::int64_t place[2] = {parameter.shard_first, parameter.shape[parameter.shard_axis]};
  std::vector<std::byte> message(sizeof place + mine.size_bytes());
  std::memcpy(message.data(), place, sizeof place);
  // An empty shard has no address.
  std::ranges::copy(std::as_bytes(mine), message.begin() + sizeof place);
  std::vector<float> whole;
  for (const std::vector<std::byte>& received : model.gather(message, 0)) {
    whole.resize(static_cast<std::size_t>(parameter.whole_shape().size()));
    std::int64_t from[2];
    std::memcpy(from, received.data(), sizeof from);
    std::vector<std::int64_t> extents(parameter.shape.extents().begin(), parameter.shape.extents().end());
    extents[static_cast<std::size_t>(parameter.shard_axis)] = from[1];
    Parameter shard = parameter;
    shard.shape = Shape(extents);
    shard.shard_first = from[0];
    std::vector<float> values_of_shard(static_cast<std::size_t>(shard.shape.size()));
    std::ranges::copy(std::span(received).subspan(sizeof from),
                      std::as_writable_bytes(std::span(values_of_shard)).begin());
    place_shard(shard, values_of_shard, whole);
  }
  return whole;
}

namespace {

/// If the file has some layers and lacks others, or has them in another shape: how these keep their initial
/// values.
std::string help_for_another_head(const std::vector<NamedTensor>& tensors,
                                  const std::map<std::string, ExpectedTensor>& expected,
                                  const std::string& path) {
  std::string layers, last;
  bool has_some = false;
  for (const auto& [name, target] : expected) {
    const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
    const bool fits = found != tensors.end() && found->shape == target.file_shape;
    has_some = has_some || fits;
    const std::string layer = name.substr(0, name.rfind('.'));
    if (fits || layer == last) continue;
    layers += (layers.empty() ? "" : ", ") + layer;
    last = layer;
  }
  if (!has_some) return help_for_huggingface(path);
  if (layers.empty()) return "";
  return "-s 'model.weights={file: " + path + ", except: [" + layers + "]}' keeps the initial values of " +
         layers;
}

}  // namespace

void load_weights(const std::string& path, const NetworkPlan& plan, const FlatValues<float>& values,
                  std::span<float> states) {
  check_is_file(path);
  const TensorFile file = read_safetensors(path);
  const std::map<std::string, ExpectedTensor> expected = expected_tensors(plan, {""}, StateUse::model);
  require(file.tensors, expected, path, help_for_another_head(file.tensors, expected, path));
  for (const NamedTensor& tensor : file.tensors)
    take_tensor(tensor, expected.at(tensor.name), values, states);
}

void check_is_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return;
  throw Error(ExitCode::weights, path + " is a directory, not a file of weights", likely_weights(path));
}

std::string likely_weights(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_run = std::filesystem::is_directory(path / "checkpoints", ignored);
  if (!is_run && std::filesystem::exists(path / "model.safetensors", ignored))
    return (path / "model.safetensors").string();
  return ((is_run ? path : "runs/NAME") / "checkpoints/best/model.safetensors").string();
}

std::string help_for_huggingface(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::is_directory(path, ignored) ? path : path.parent_path();
  if (!std::filesystem::exists(folder / "config.json", ignored)) return "";
  return "-s 'model.weights={file: " + (folder.empty() ? "." : folder.string()) +
         "}' reads a directory of Hugging Face";
}

}  // namespace trainer
