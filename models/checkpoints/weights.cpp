#include "models/checkpoints/weights.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "models/formats/layout.h"
#include "models/network/shard.h"

namespace trainer {
namespace {

/// A tensor that a file must hold for this plan.
struct Expected {
  Shape file_shape;
  const Parameter* parameter = nullptr;  ///< null for a state
  const State* state = nullptr;
};

std::map<std::string, Expected> expected_tensors(const NetworkPlan& plan,
                                                 const std::vector<std::string>& suffixes, StateUse states) {
  std::map<std::string, Expected> expected;
  for (const Parameter& parameter : plan.parameters())
    for (const std::string& suffix : suffixes)
      expected[parameter.name + suffix] = {
          .file_shape = file_shape(parameter.layout, parameter.whole_shape()), .parameter = &parameter};
  for (const State& state : plan.states())
    if (state.use == states) expected[state.name] = {.file_shape = state.shape, .state = &state};
  return expected;
}

/// Every difference between a file's tensors and the expected ones.
std::vector<std::string> differences(const std::vector<NamedTensor>& tensors,
                                     const std::map<std::string, Expected>& expected) {
  std::vector<std::string> notes;
  std::map<std::string, const NamedTensor*> found;
  for (const NamedTensor& tensor : tensors) {
    found[tensor.name] = &tensor;
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

void require(const std::vector<NamedTensor>& tensors, const std::map<std::string, Expected>& expected,
             const std::string& place, const std::string& help = "") {
  std::vector<std::string> notes = differences(tensors, expected);
  if (notes.empty()) return;
  constexpr std::size_t kMax = 10;
  if (notes.size() > kMax) {
    const std::size_t more = notes.size() - kMax;
    notes.resize(kMax);
    notes.push_back("and " + std::to_string(more) + " more");
  }
  throw Error(
      ExitCode::weights,
      {Diagnostic{.what = "the weights do not fit the model", .place = place, .notes = notes, .help = help}});
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
                    const std::string& suffix, const FlatValues<float>& values, Communicator& world) {
  for (const Parameter& parameter : plan.parameters()) {
    std::vector<float> whole(static_cast<std::size_t>(parameter.whole_shape().size()));
    broadcast_tensor(tensors, parameter.name + suffix, whole, world);
    take_shard(parameter, to_memory_layout(parameter.layout, parameter.whole_shape(), whole),
               values.subspan(parameter.offset, parameter.shape.size()));
  }
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

TensorFile read_weights(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::filesystem::path inside = std::filesystem::path(path) / "model.safetensors";
    throw Error(ExitCode::weights, path + " is a directory, not a file of weights",
                std::filesystem::exists(inside, ignored) ? inside.string()
                                                         : "RUN/checkpoints/best/model.safetensors");
  }
  return read_safetensors(path);
}

void take_tensors(const std::vector<NamedTensor>& tensors, const std::map<std::string, Expected>& expected,
                  const FlatValues<float>& values, std::span<float> states) {
  for (const NamedTensor& tensor : tensors) {
    const Expected& target = expected.at(tensor.name);
    if (target.state) {
      std::ranges::copy(tensor.values, states.begin() + target.state->offset);
      continue;
    }
    const Parameter& parameter = *target.parameter;
    const std::vector<float> whole =
        to_memory_layout(parameter.layout, parameter.whole_shape(), tensor.values);
    take_shard(parameter, whole, values.subspan(parameter.offset, parameter.shape.size()));
  }
}

/// If the file has all layers and some have another shape: how to keep the initial values of these.
std::string help_for_another_head(const std::vector<NamedTensor>& tensors,
                                  const std::map<std::string, Expected>& expected, const std::string& path) {
  std::string layers;
  std::string last;
  for (const auto& [name, target] : expected) {
    const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
    if (found == tensors.end()) return "";
    const std::string layer = name.substr(0, name.rfind('.'));
    if (found->shape == target.file_shape || layer == last) continue;
    layers += (layers.empty() ? "" : ", ") + layer;
    last = layer;
  }
  if (layers.empty()) return "";
  return "-s 'model.weights={file: " + path + ", except: [" + layers + "]}' keeps the initial values of " +
         layers;
}

}  // namespace

void load_weights(const std::string& path, const NetworkPlan& plan, const FlatValues<float>& values,
                  std::span<float> states) {
  const TensorFile file = read_weights(path);
  const std::map<std::string, Expected> expected = expected_tensors(plan, {""}, StateUse::model);
  require(file.tensors, expected, path, help_for_another_head(file.tensors, expected, path));
  take_tensors(file.tensors, expected, values, states);
}

void load_weights_except(const std::vector<std::string>& layers, const std::string& path,
                         const NetworkPlan& plan, const FlatValues<float>& values, std::span<float> states) {
  TensorFile file = read_weights(path);
  std::map<std::string, Expected> expected = expected_tensors(plan, {""}, StateUse::model);
  for (const std::string& layer : layers)
    if (std::erase_if(expected, [&](const auto& item) { return item.first.starts_with(layer + "."); }) == 0)
      throw Error(ExitCode::usage,
                  "model.weights.except: the model has no layer `" + layer + "` with weights");
  std::erase_if(file.tensors, [&](const NamedTensor& tensor) { return !expected.contains(tensor.name); });
  require(file.tensors, expected, path, "model.weights.except names layers that keep their initial values");
  take_tensors(file.tensors, expected, values, states);
}

}  // namespace trainer
