#include "models/checkpoints/imported_weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "engine/config/source.h"
#include "models/checkpoints/expected_tensors.h"
#include "models/checkpoints/weights.h"
#include "models/huggingface/directory.h"

namespace trainer {
namespace {

constexpr std::size_t kMostLikely = 10;  // notes with a likely name; no more are shown

using Expected = std::map<std::string, ExpectedTensor>;

struct SourceFile {
  std::vector<NamedTensor> tensors = {};
  std::vector<OtherTensor> others = {};
  NameMap names;  ///< of the tensors in the model
};

SourceFile read(const WeightSource& source) {
  check_is_file(source.file);
  SourceFile file{.names = source.names};
  file.tensors = read_safetensors(source.file, &file.others).tensors;
  return file;
}

SourceFile read(const WeightSource& source, const Network& network) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = source.file;
  const bool is_folder = fs::is_directory(path, ignored);
  const bool is_checkpoint =
      fs::exists(path / "model.safetensors", ignored) && !fs::exists(path / "config.json", ignored);
  if (!fs::exists(path, ignored) ||
      (is_folder && (is_checkpoint || fs::exists(path / "checkpoints", ignored))))
    throw Error(
        ExitCode::weights,
        {Diagnostic{.what = in_quotes(source.file) +
                            (fs::exists(path, ignored) ? " is not a file of weights" : " does not exist"),
                    .place = "model.weights.file",
                    .help = likely_weights(path)}});
  if (!is_folder) return read(source);
  if (!source.names.rules().empty())
    throw Error(ExitCode::usage,
                "model.weights.map: the names in a Hugging Face directory follow from the layers",
                "`weights: {file: " + source.file + "}`, without map");
  DirectoryWeights weights = read_directory_weights(source.file, network.layers(), network.input());
  return {.tensors = std::move(weights.tensors), .names = NameMap(std::move(weights.names))};
}

std::string text_of(const TensorEntry& tensor) { return tensor.name + " " + tensor.shape.text(); }

/// Moves the tensors of excepted layers from `expected` to `initial`.
void take_out_excepted(const WeightSource& source, const NetworkPlan& plan, Expected& expected,
                       std::vector<TensorEntry>& initial) {
  for (const std::string& layer : source.except) {
    const std::size_t before = initial.size();
    const auto take_out = [&](const std::string& name) {
      if (!name.starts_with(layer + ".")) return;
      if (const auto tensor = expected.extract(name)) initial.push_back({name, tensor.mapped().file_shape});
    };
    for (const Parameter& parameter : plan.parameters()) take_out(parameter.name);
    for (const State& state : plan.states()) take_out(state.name);
    if (initial.size() > before) continue;
    std::vector<std::string> layers;
    for (const Parameter& parameter : plan.parameters()) {
      std::string name = parameter.module();
      if (layers.empty() || layers.back() != name) layers.push_back(std::move(name));
    }
    const std::string likely = suggestion(layer, layers);
    throw Error(ExitCode::usage, "model.weights.except: the model has no layer `" + layer + "` with weights",
                likely.empty() ? "its layers with weights are " + listed(layers) : likely);
  }
}

/// Moves the adapters of which the file has neither matrix from `expected` to `initial`.
void take_out_adapters(const SourceFile& file, const NetworkPlan& plan, Expected& expected,
                       std::vector<TensorEntry>& initial) {
  std::set<std::string> names;
  for (const NamedTensor& tensor : file.tensors) names.insert(file.names(tensor.name));
  for (const Adapter& adapter : plan.adapters()) {
    const std::string &down = plan.parameter(adapter.down).name, &up = plan.parameter(adapter.up).name;
    if (names.contains(down) || names.contains(up)) continue;
    for (const std::string& name : {down, up})
      if (const auto tensor = expected.extract(name)) initial.push_back({name, tensor.mapped().file_shape});
  }
}

/// What a missing tensor of the model may be called in the file: the nearest name of its shape, the nearest
/// of all, or the first of its shape.
std::string likely_name(const TensorEntry& missing, const std::vector<TensorEntry>& unused) {
  std::vector<std::string> same_shape, all;
  for (const TensorEntry& tensor : unused) {
    all.push_back(tensor.name);
    if (tensor.shape == missing.shape) same_shape.push_back(tensor.name);
  }
  if (std::string name = nearest(missing.name, same_shape); !name.empty()) return name;
  if (std::string name = nearest(missing.name, all); !name.empty()) return name;
  return same_shape.empty() ? "" : same_shape.front();
}

/// What the file gives the model, and every way in which it does not fit.
class Matching {
 public:
  Matching(const SourceFile& file, const NetworkPlan& plan, Expected expected)
      : names_(file.names), expected_(std::move(expected)) {
    for (const NamedTensor& tensor : file.tensors) add({tensor.name, tensor.shape}, "");
    for (const OtherTensor& tensor : file.others) add({tensor.name, tensor.shape}, tensor.type);
    for (const Parameter& parameter : plan.parameters()) take(parameter.name);
    for (const State& state : plan.states()) take(state.name);
    note_unused_rules(file);
    note_unused_adapters();
  }

  WeightMatch match;
  std::vector<std::string> notes;

 private:
  /// A tensor of the file. `type`: that of its elements, if they cannot be weights.
  void add(TensorEntry tensor, const std::string& type) {
    const std::string name = names_(tensor.name);
    const auto found = expected_.find(name);
    if (found == expected_.end()) {
      match.unused.push_back(std::move(tensor));
      return;
    }
    const auto [place, is_new] = given_.try_emplace(name, tensor);
    const std::string shown = tensor.name == name ? name : tensor.name + ", here " + name + ",";
    if (!is_new)
      notes.push_back(place->second.name + " and " + tensor.name + " are both " + name);
    else if (!type.empty())
      notes.push_back(shown + " has elements of type " + type + ", weights are floats");
    else if (tensor.shape != found->second.file_shape)
      notes.push_back(shown + " is " + tensor.shape.text() + ", the model expects " +
                      found->second.file_shape.text());
  }

  void take(const std::string& name) {
    const auto found = expected_.find(name);
    if (found == expected_.end()) return;
    const TensorEntry tensor{name, found->second.file_shape};
    if (const auto given = given_.find(name); given != given_.end()) {
      match.taken.push_back({name, given->second.name, tensor.shape});
      return;
    }
    const std::string likely = notes.size() < kMostLikely ? likely_name(tensor, match.unused) : "";
    std::string note = "the file has no " + text_of(tensor);
    if (!likely.empty())
      note += ", but " + text_of(*std::ranges::find(match.unused, likely, &TensorEntry::name));
    notes.push_back(std::move(note));
  }

  void note_unused_rules(const SourceFile& file) {
    const std::vector<NameMap::Rule>& rules = names_.rules();
    std::vector<bool> used(rules.size() + 1);
    std::vector<std::string> names;
    for (const NamedTensor& tensor : file.tensors) names.push_back(tensor.name);
    for (const OtherTensor& tensor : file.others) names.push_back(tensor.name);
    for (const std::string& name : names) used[names_.rule_of(name)] = true;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (used[i]) continue;
      const std::string& from = rules[i].first;
      std::vector<std::string> layers;
      layers.reserve(names.size());
      for (const std::string& name : names) layers.push_back(name.substr(0, name.rfind('.')));
      const std::string near = nearest(from, layers);
      notes.push_back("no tensor of the file is left for the rule " + in_quotes(from) +
                      (near.empty() ? "" : "; it has " + near));
    }
  }

  /// Without its adapters a network computes something else.
  void note_unused_adapters() {
    for (const TensorEntry& tensor : match.unused)
      if (tensor.name.ends_with("lora_A.weight"))
        notes.push_back("the layer of " + text_of(tensor) +
                        " has no `lora` here; `trainer export RUN safetensors` merges adapters");
  }

  const NameMap& names_;
  Expected expected_;
  std::map<std::string, TensorEntry> given_;  ///< by the name in the model
};

std::string help_to_fit(const WeightSource& source, const WeightMatch& match) {
  const std::string except = "model.weights.except names layers that keep their initial values";
  std::error_code ignored;
  if (std::filesystem::is_directory(source.file, ignored)) return except;
  if (match.taken.empty())
    if (std::string help = help_for_huggingface(source.file); !help.empty()) return help;
  return "model.weights.map gives other names, `map: {NAME IN THE FILE: NAME HERE}`; " + except;
}

WeightMatch match_file(const WeightSource& source, const SourceFile& file, const NetworkPlan& plan) {
  Expected expected = expected_tensors(plan, {""}, StateUse::model);
  std::vector<TensorEntry> initial;
  take_out_excepted(source, plan, expected, initial);
  take_out_adapters(file, plan, expected, initial);
  Matching matching(file, plan, std::move(expected));
  if (!matching.notes.empty())
    fail_to_load(std::move(matching.notes), source.file, help_to_fit(source, matching.match));
  matching.match.initial = std::move(initial);
  return std::move(matching.match);
}

WeightMatch take_file(const WeightSource& source, const SourceFile& file, const NetworkPlan& plan,
                      const FlatValues<float>& values, std::span<float> states) {
  WeightMatch match = match_file(source, file, plan);
  const Expected expected = expected_tensors(plan, {""}, StateUse::model);
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : file.tensors) by_name[tensor.name] = &tensor;
  for (const WeightMatch::Taken& taken : match.taken)
    take_tensor(*by_name.at(taken.name_in_file), expected.at(taken.name), values, states);
  return match;
}

}  // namespace

WeightSource weight_source(const Config& weights) {
  return {.file = weights.get<std::string>("file"),
          .except = weights.get<std::vector<std::string>>("except"),
          .names = NameMap(weights.get<std::vector<NameMap::Rule>>("map"))};
}

WeightMatch match_weights(const WeightSource& source, const NetworkPlan& plan) {
  return match_file(source, read(source), plan);
}

WeightMatch match_weights(const WeightSource& source, const Network& network) {
  return match_file(source, read(source, network), network.plan());
}

WeightMatch import_weights(const WeightSource& source, const NetworkPlan& plan,
                           const FlatValues<float>& values, std::span<float> states) {
  return take_file(source, read(source), plan, values, states);
}

WeightMatch import_weights(const WeightSource& source, const Network& network,
                           const FlatValues<float>& values, std::span<float> states) {
  return take_file(source, read(source, network), network.plan(), values, states);
}

}  // namespace trainer
