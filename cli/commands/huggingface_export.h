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
/// can do the same, what makes inputs of texts or images. Each file appears whole. Error(usage) if the
/// network is no GPT-2, no Llama and no ResNet.
WrittenFiles write_huggingface_directory(const TrainedRun& trained, const std::filesystem::path& folder);

/// Writes a GPT-2 or Llama as one file of GGUF for llama.cpp. Error(usage) if it is another
/// network, or llama.cpp has no such activation or tokenizer.
WrittenFiles write_gguf(const TrainedRun& trained, const std::filesystem::path& path,
                        const std::string& name);

}  // namespace trainer
