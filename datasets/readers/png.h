#pragma once

#include <span>
#include <string>

#include "datasets/readers/image_file.h"

namespace trainer {

bool is_png(std::span<const std::uint8_t> file);

/// Decodes into `image`, whose channels are set, as bytes: palettes, 1 to 16 bits, transparency over black.
/// Returns what is wrong with the file; empty if nothing is.
std::string decode_png(std::span<const std::uint8_t> file, Image& image);

/// A PNG file of an image, gray or RGB. Error(failure) if libpng has no memory for it.
std::string encoded_png(const Image& image);

}  // namespace trainer
