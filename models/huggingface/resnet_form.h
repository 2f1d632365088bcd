#pragma once

#include "models/huggingface/form_layers.h"
#include "models/huggingface/resnet_settings.h"

namespace trainer {

/// A network as Hugging Face's programs describe it.
struct ResNetForm {
  ResNetSettings settings;
  std::vector<TensorMatch> tensors = {};  ///< of all parameters and states, in the order of the layers
};

/// The form of layers after their setup, partitioned or not, for images of so many channels. Error(usage)
/// names the layer that no ResNet of Hugging Face has.
ResNetForm resnet_form(const Sequence& layers, std::int64_t channels);

}  // namespace trainer
