#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/trained_run.h"

namespace trainer {

struct WrittenFiles {
  std::vector<std::string> files;  ///< their paths
  std::string note;                ///< what they lack; empty: nothing
};
/// Writes a run as a directory that Hugging Face's programs read: config.json, model.safetensors and, if they
/// have one of its kind, the tokenizer. Each file appears whole. Error(usage) if the network is no GPT-2 and
/// no Llama.
WrittenFiles write_huggingface_directory(const TrainedRun& trained, const std::filesystem::path& folder);

/// Writes such a network as one file of GGUF for llama.cpp. Error(usage) also if llama.cpp has no such
/// activation or tokenizer.
WrittenFiles write_gguf(const TrainedRun& trained, const std::filesystem::path& path,
                        const std::string& name);

}  // namespace trainer
