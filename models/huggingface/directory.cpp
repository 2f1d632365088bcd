#include "models/huggingface/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kLargestJson = std::uint64_t{16} << 20;

[[noreturn]] void fail(const fs::path& place, const std::string& what, std::vector<std::string> notes = {},
                       const std::string& help = "") {
  throw Error(ExitCode::weights,
              {Diagnostic{.what = what, .place = place.string(), .notes = std::move(notes), .help = help}});
}

/// The files that an index names. Its text is not trusted: a file lies beside it.
std::vector<std::string> files_of_index(const fs::path& index) {
  std::set<std::string> files;
  try {
    const json all = json::parse(read_file(index, ExitCode::weights, kLargestJson));
    for (const auto& [tensor, file] : all.at("weight_map").items()) {
      const auto& name = file.get_ref<const std::string&>();
      if (fs::path(name).filename() != name || name == "..") fail(index, "it names files elsewhere");
      files.insert(name);
    }
  } catch (const json::exception& error) {
    fail(index, "not an index of safetensors files", {error.what()});
  }
  return {files.begin(), files.end()};
}

std::vector<NamedTensor> read_tensors(const fs::path& folder) {
  std::error_code ignored;
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  std::vector<std::string> files;
  if (fs::exists(single, ignored))
    files = {single.filename().string()};
  else if (fs::exists(index, ignored))
    files = files_of_index(index);
  else
    fail(folder, "it has no model.safetensors",
         fs::exists(folder / "pytorch_model.bin", ignored)
             ? std::vector<std::string>{"pytorch_model.bin is a program for Python, which is not run"}
             : std::vector<std::string>{},
         "save_pretrained(DIR) of transformers writes one");
  std::vector<NamedTensor> tensors;
  for (const std::string& file : files) {
    std::vector<OtherTensor> others;  // masks
    TensorFile part = read_safetensors(folder / file, &others);
    std::ranges::move(part.tensors, std::back_inserter(tensors));
  }
  return tensors;
}

/// A name without "transformer.", "model." or "resnet.", which directories of the bare layers lack.
std::string bare(const std::string& name) {
  for (const std::string_view prefix : {"transformer.", "model.", "resnet."})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

/// Masks and wave lengths, which earlier programs stored beside the weights.
bool is_constant(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("rotary_emb.inv_freq");
}

NamedTensor turned(NamedTensor tensor) {
  if (tensor.shape.rank() != 2) return tensor;
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<float> values(tensor.values.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      values[static_cast<std::size_t>(column * rows + row)] =
          tensor.values[static_cast<std::size_t>(row * columns + column)];
  return {std::move(tensor.name), {columns, rows}, std::move(values)};
}

/// "model.layers.0.self_attn.q_proj+k_proj+v_proj.weight"
std::string joint_name(const std::vector<std::string>& names) {
  std::string result = names.front().substr(0, names.front().rfind('.'));
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::string layer = names[i].substr(0, names[i].rfind('.'));
    result += "+" + layer.substr(layer.rfind('.') + 1);
  }
  return result + names.front().substr(names.front().rfind('.'));
}

/// The rows of several tensors, one behind the other; of equal rows.
void append(NamedTensor& tensor, NamedTensor more) {
  std::vector<std::int64_t> extents(tensor.shape.extents().begin(), tensor.shape.extents().end());
  extents.front() += more.shape[0];
  tensor.shape = Shape(extents);
  tensor.values.insert(tensor.values.end(), more.values.begin(), more.values.end());
}

NamedTensor first_rows(NamedTensor tensor, std::int64_t rows) {
  if (tensor.shape.rank() == 0 || tensor.shape[0] <= rows) return tensor;
  std::vector<std::int64_t> extents(tensor.shape.extents().begin(), tensor.shape.extents().end());
  extents.front() = rows;
  tensor.shape = Shape(extents);
  tensor.values.resize(static_cast<std::size_t>(tensor.shape.size()));
  return tensor;
}

/// The tensor of this name, which is moved.
NamedTensor take(const std::string& name, std::vector<NamedTensor>& tensors) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  if (found == tensors.end()) throw std::logic_error("a checkpoint without " + name);
  return std::move(*found);
}

std::string read_config(const fs::path& folder) {
  const fs::path file = folder / "config.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    fail(folder, "it is no directory of Hugging Face: it has no config.json", {},
         "a directory with config.json and model.safetensors");
  return read_file(file, ExitCode::weights, kLargestJson);
}

/// The tensors of a directory that layers are made of.
struct FormTensors {
  std::vector<TensorMatch> tensors;
  bool has_tied_output = false;
  std::int64_t positions = 0;
};

template <class Settings, class Form>
void require_equal(const fs::path& folder, const Settings& settings, const Form& form,
                   const std::string& help) {
  if (std::vector<std::string> notes = differences(settings, form.settings); !notes.empty())
    fail(folder / "config.json", "the network is another one", std::move(notes), help);
}

/// Fails unless the layers have the settings of the directory.
FormTensors form_tensors(const fs::path& folder, const Sequence& layers, const Shape& input) {
  if (takes_images(input)) {
    const ResNetSettings settings =
        parse_resnet_settings(read_config(folder), (folder / "config.json").string());
    ResNetForm form = resnet_form(layers, input[2]);
    require_equal(folder, settings, form, "docs/export.md describes the layers of a ResNet");
    return {.tensors = std::move(form.tensors)};
  }
  const TransformerSettings settings = read_transformer_settings(folder);
  TransformerForm form = transformer_form(layers, input[0]);
  require_equal(folder, settings, form,
                fmt::format("`trainer new gpt TEXT --from {}` prints a config that fits", folder.string()));
  return {.tensors = std::move(form.tensors), .has_tied_output = settings.is_tied, .positions = input[0]};
}

}  // namespace

bool takes_images(const Shape& input) { return input.rank() == 3; }

TransformerSettings read_transformer_settings(const fs::path& folder) {
  return parse_transformer_settings(read_config(folder), (folder / "config.json").string());
}

DirectoryWeights read_directory_weights(const fs::path& folder, const Sequence& layers, const Shape& input) {
  const FormTensors expected = form_tensors(folder, layers, input);
  std::map<std::string, NamedTensor> found;
  for (NamedTensor& tensor : read_tensors(folder)) {
    const std::string name = bare(tensor.name);
    const bool is_tied_output = expected.has_tied_output && name == "lm_head.weight";
    if (!is_constant(name) && !is_tied_output) found.insert_or_assign(name, std::move(tensor));
  }

  DirectoryWeights weights;
  for (const TensorMatch& match : expected.tensors) {
    std::vector<std::map<std::string, NamedTensor>::iterator> parts;
    for (const std::string& name : match.there)
      if (const auto part = found.find(bare(name)); part != found.end()) parts.push_back(part);
    if (parts.size() < match.there.size()) continue;  // who takes the weights reports what is missing
    const auto fits = [&](const auto& part) {
      const Shape& first = parts.front()->second.shape;
      const Shape& shape = part->second.shape;
      return shape.rank() > 0 && shape.without_front() == first.without_front();
    };
    if (parts.size() > 1 && !std::ranges::all_of(parts, fits))
      fail(folder, joint_name(match.there) + ": their rows have several lengths");
    NamedTensor tensor = std::move(parts.front()->second);
    for (std::size_t i = 1; i < parts.size(); ++i) append(tensor, std::move(parts[i]->second));
    for (const auto& part : parts) found.erase(part);
    if (parts.size() > 1) tensor.name = joint_name(match.there);
    if (match.is_turned) tensor = turned(std::move(tensor));
    if (match.here.ends_with(".positions")) tensor = first_rows(std::move(tensor), expected.positions);
    weights.names.emplace_back(tensor.name, match.here);
    weights.tensors.push_back(std::move(tensor));
  }
  for (auto& [name, tensor] : found) weights.tensors.push_back(std::move(tensor));
  return weights;
}

std::vector<NamedTensor> huggingface_tensors(const TransformerForm& form, std::vector<NamedTensor> tensors) {
  std::vector<NamedTensor> result;
  for (const TensorMatch& match : form.tensors) {
    NamedTensor tensor = take(match.here, tensors);
    if (match.is_turned) tensor = turned(std::move(tensor));
    if (match.there.size() == 1) {
      tensor.name = match.there.front();
      result.push_back(std::move(tensor));
      continue;
    }
    // Queries, then keys and values of fewer heads.
    const std::int64_t row = tensor.shape.without_front().size();
    const std::int64_t queries = form.settings.width,
                       keys = queries / form.settings.heads * form.settings.key_heads;
    const float* from = tensor.values.data();
    for (std::size_t i = 0; i < match.there.size(); ++i) {
      const std::int64_t rows = i == 0 ? queries : keys;
      result.push_back({match.there[i], {rows, tensor.shape[1]}, {from, from + rows * row}});
      from += rows * row;
    }
  }
  return result;
}

std::vector<NamedTensor> huggingface_tensors(const ResNetForm& form, std::vector<NamedTensor> tensors) {
  std::vector<NamedTensor> result;
  for (const TensorMatch& match : form.tensors) {
    result.push_back(take(match.here, tensors));
    result.back().name = match.there.front();
  }
  return result;
}

}  // namespace trainer
