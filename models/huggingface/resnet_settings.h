#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/losses/link.h"

namespace trainer {

/// What config.json of a Hugging Face directory describes: a ResNet (He et al. 2015), whose stages begin with
/// stride 2.
struct ResNetSettings {
  std::int64_t channels = 3;
  std::int64_t stem = 64;            ///< filters before the first stage
  std::vector<std::int64_t> widths;  ///< channels that each stage gives
  std::vector<std::int64_t> depths;  ///< residuals of each stage
  bool is_bottleneck = true;         ///< residuals of three convolutions, else of two
  bool strides_first_stage = false;  ///< also the first stage begins with stride 2
  bool strides_first_conv = false;   ///< the stride of a bottleneck is in its first convolution
};

/// Of the text of a config.json, which is not trusted. Error(weights) with `place` if it describes another
/// model, or what networks here do not compute.
ResNetSettings parse_resnet_settings(std::string_view text, const std::string& place);

/// The text of a config.json. `outputs`: their names; `link`: what they are.
std::string config_json(const ResNetSettings& settings, const std::vector<std::string>& outputs, Link link);

/// What a network computes differently than a config.json describes: "embedding_size is 64, here 32".
std::vector<std::string> differences(const ResNetSettings& file, const ResNetSettings& here);

/// How images become inputs.
struct ImageForm {
  std::int64_t size = 224;  ///< height and width
  std::int64_t channels = 3;
  double crop = 1;                     ///< side of the centre crop, relative to the largest one
  std::vector<float> mean, deviation;  ///< of each channel, of pixels from 0 to 1; empty: not normalised
};
/// The text of a preprocessor_config.json.
std::string preprocessor_json(const ImageForm& form);

}  // namespace trainer
