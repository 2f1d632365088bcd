#pragma once

#include <string>
#include <vector>

#include "datasets/tokenizer.h"
#include "models/formats/safetensors.h"
#include "models/huggingface/transformer_form.h"

namespace trainer {

/// A file of GGUF, version 3 (github.com/ggml-org/ggml, docs/gguf.md): the head, then the values of each
/// tensor, filled with zeros to a multiple of kGgufAlignment bytes.
struct GgufFile {
  std::string head;
  std::vector<NamedTensor> tensors;
  std::string note = {};  ///< how llama.cpp computes something else; empty: it does not
};
constexpr std::size_t kGgufAlignment = 32;

/// Tensors of a checkpoint, all of the form's parameters, with settings and tokenizer as llama.cpp reads
/// them. Error(usage) if llama.cpp has no such activation or tokenizer.
GgufFile gguf_file(const TransformerForm& form, const Tokenizer* tokenizer, std::vector<NamedTensor> tensors,
                   const std::string& name);

}  // namespace trainer
