#pragma once

#include <string>

#include "datasets/tokenizer.h"
#include "models/huggingface/gguf_metadata.h"

namespace trainer {

/// Adds a tokenizer as llama.cpp has it, with a token for each of `rows` rows of the embedding. Returns
/// how llama.cpp splits texts into other tokens; empty: it does not. Error(usage) if llama.cpp has none of
/// its kind, or it is a null pointer.
std::string add_tokenizer(GgufMetadata& metadata, const Tokenizer* tokenizer, std::int64_t rows);

}  // namespace trainer
