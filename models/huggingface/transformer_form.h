#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/huggingface/transformer_settings.h"
#include "models/layers/sequence.h"

namespace trainer {

/// A parameter, in the layout of files, and the tensors of a Hugging Face directory that it is made of.
struct TensorMatch {
  std::string here;
  std::vector<std::string> there;  ///< their rows lie one behind the other
  bool is_turned = false;          ///< a matrix there is (inputs, outputs): GPT-2's Conv1D
};

/// A network as Hugging Face's programs describe it.
struct TransformerForm {
  TransformerSettings settings;
  std::vector<TensorMatch> tensors = {};  ///< of all parameters, in the order of the layers
};

/// The form of layers after their setup, partitioned or not, for sequences of so many positions. Error(usage)
/// names the layer that GPT-2 or Llama does not have.
TransformerForm transformer_form(const Sequence& layers, std::int64_t positions);

}  // namespace trainer
