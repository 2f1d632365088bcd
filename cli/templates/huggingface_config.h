#pragma once

#include <string>

namespace trainer {

/// A short commented config that trains the GPT-2 or Llama of a Hugging Face directory further on a text,
/// with its tokenizer. Error(weights) if the directory holds neither, Error(usage) without a text.
std::string huggingface_config(const std::string& folder, const std::string& text);

}  // namespace trainer
