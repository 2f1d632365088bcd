#pragma once

#include <span>
#include <string>

#include "datasets/readers/image_file.h"

namespace trainer {

bool is_webp(std::span<const std::uint8_t> file);

/// Decodes into `image`, whose channels are set: lossy or lossless, transparency over black. May reduce the
/// size to 1/2, 1/4 or 1/8 if both sides keep at least `enough` pixels. Returns what is wrong with the file,
/// also if it ends early; empty if nothing is.
std::string decode_webp(std::span<const std::uint8_t> file, std::int64_t enough, Image& image);

}  // namespace trainer
