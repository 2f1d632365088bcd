#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"

namespace trainer {

// The words of the command line and what they stand for.

inline const std::map<std::string, Verb> kVerbs{{"train", Verb::train},
                                                {"new", Verb::new_config},
                                                {"check", Verb::check},
                                                {"config", Verb::config},
                                                {"summary", Verb::summary},
                                                {"plan", Verb::plan},
                                                {"forecast", Verb::forecast},
                                                {"time", Verb::time},
                                                {"schema", Verb::schema},
                                                {"info", Verb::info},
                                                {"completion", Verb::completion},
                                                {"eval", Verb::eval},
                                                {"predict", Verb::predict},
                                                {"generate", Verb::generate},
                                                {"export", Verb::export_model},
                                                {"fetch", Verb::fetch},
                                                {"report", Verb::report},
                                                {"compare", Verb::compare},
                                                {"sweep", Verb::sweep},
                                                {"cv", Verb::cv},
                                                {"lr-find", Verb::lr_find},
                                                {"verify", Verb::verify},
                                                {"bisect", Verb::bisect},
                                                {"bundle", Verb::bundle},
                                                {"pack", Verb::pack}};

inline const std::map<std::string, ProgressMode> kProgressModes{{"auto", ProgressMode::automatic},
                                                                {"bar", ProgressMode::bar},
                                                                {"plain", ProgressMode::plain},
                                                                {"json", ProgressMode::json},
                                                                {"none", ProgressMode::none}};

inline const std::map<std::string, ExportFormat> kExportFormats{
    {"onnx", ExportFormat::onnx}, {"c", ExportFormat::c},
    {"npz", ExportFormat::npz},   {"safetensors", ExportFormat::safetensors},
    {"hf", ExportFormat::hf},     {"gguf", ExportFormat::gguf}};

inline const std::map<std::string, Engine> kEngines{
    {"auto", Engine::automatic}, {"native", Engine::native}, {"openblas", Engine::openblas}};

inline const std::map<std::string, Sharding> kShardingWords{
    {"state", Sharding::state}, {"gradients", Sharding::gradients}, {"parameters", Sharding::parameters}};

/// What `trainer new` makes configs for.
inline const std::vector<std::string> kTemplates{"mlp", "convnet", "resnet", "lstm",
                                                 "gpt", "table",   "folder"};

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& words) {
  std::vector<std::string> names;
  names.reserve(words.size());
  for (const auto& [name, value] : words) names.push_back(name);
  return names;
}

}  // namespace trainer
