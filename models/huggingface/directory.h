#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/formats/safetensors.h"
#include "models/huggingface/resnet_form.h"
#include "models/huggingface/transformer_form.h"

namespace trainer {

/// What config.json of a Hugging Face directory describes. Error(weights) if it is missing or bad.
TransformerSettings read_transformer_settings(const std::filesystem::path& folder);

/// The weights of a directory.
struct DirectoryWeights {
  std::vector<NamedTensor> tensors;  ///< named as there; those of a network in the layout of its checkpoints
  std::vector<std::pair<std::string, std::string>> names;  ///< there and here, of those of the network
};
/// Of model.safetensors, or of the files that model.safetensors.index.json lists, for layers after their
/// setup. `input`: of one sample; of learned positions the first are taken. Error(usage) if the layers have
/// no form that Hugging Face's programs know; Error(weights) if the directory is of another network, or
/// damaged.
DirectoryWeights read_directory_weights(const std::filesystem::path& folder, const Sequence& layers,
                                        const Shape& input);

/// Whether a network for such samples may have the form of a ResNet; else it may have that of a transformer.
bool takes_images(const Shape& input);

/// Tensors of a checkpoint, all of the form's, as Hugging Face's programs name them.
std::vector<NamedTensor> huggingface_tensors(const TransformerForm& form, std::vector<NamedTensor> tensors);
std::vector<NamedTensor> huggingface_tensors(const ResNetForm& form, std::vector<NamedTensor> tensors);

}  // namespace trainer
