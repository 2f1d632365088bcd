#pragma once

#include <memory>
#include <optional>

#include "engine/math/types/activation.h"
#include "models/layers/layer.h"

namespace trainer {

/// A convolution before its input is known.
struct ConvSettings {
  /// Along an image's height and width.
  struct Extents {
    std::int64_t h = 1, w = 1;
  };
  std::int64_t filters = 1;
  Extents kernel = {}, stride = {}, pad = {0, 0}, dilation = {};
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = Activation::none;
  bool along_time = false;  ///< over a sequence (time, features), as a map of width 1
};

/// A convolution inside another layer, whose config is blamed when it does not fit.
std::unique_ptr<Layer> make_conv(const ConvSettings& settings, const Config& blamed);

/// The two integers that a key like `kernel: 3` or `kernel: [3, 5]` gives: height, width.
ConvSettings::Extents extents_of(const Config& config, std::string_view key);

}  // namespace trainer
