#pragma once

#include <cstdint>
#include <vector>

#include "models/huggingface/form_layers.h"
#include "models/huggingface/transformer_settings.h"

namespace trainer {

/// A network as Hugging Face's programs describe it.
struct TransformerForm {
  TransformerSettings settings;
  std::vector<TensorMatch> tensors = {};  ///< of all parameters, in the order of the layers
};

/// The form of layers after their setup, partitioned or not, for sequences of so many positions. Error(usage)
/// names the layer that GPT-2 or Llama does not have.
TransformerForm transformer_form(const Sequence& layers, std::int64_t positions);

}  // namespace trainer
