#pragma once

#include <span>
#include <string>

#include "datasets/readers/image_file.h"

namespace trainer {

bool is_jpeg(std::span<const std::uint8_t> file);

/// Decodes into `image`, whose channels are given; CMYK too. At 1/2, 1/4 or 1/8 of its size where no side
/// falls below `enough`. `row` is memory to work in. Gives what is wrong, a file that ends early included;
/// empty when nothing is.
std::string decode_jpeg(std::span<const std::uint8_t> file, std::int64_t enough,
                        std::vector<std::uint8_t>& row, Image& image);

}  // namespace trainer
