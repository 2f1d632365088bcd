#pragma once

#include <span>
#include <string>

#include "datasets/readers/image_file.h"

namespace trainer {

bool is_png(std::span<const std::uint8_t> file);

/// Decodes into `image`, whose channels are given. Palettes, 1 to 16 bits and transparency (over black)
/// become bytes. Gives what is wrong; empty when nothing is.
std::string decode_png(std::span<const std::uint8_t> file, Image& image);

}  // namespace trainer
