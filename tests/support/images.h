#pragma once

#include <cstdint>
#include <vector>

namespace trainer {

using Bytes = std::vector<std::uint8_t>;

/// A PNG file of `pixels`, (height, width, channels): 1 gray, 2 gray and alpha, 3 colours, 4 with alpha.
Bytes png_bytes(int height, int width, int channels, const Bytes& pixels);
/// The same with a palette of colours, and each pixel a number in it.
Bytes palette_png_bytes(int height, int width, const Bytes& palette, const Bytes& pixels);
/// Gray, 16 bits, linear light.
Bytes deep_png_bytes(int height, int width, const std::vector<std::uint16_t>& pixels);

/// A JPEG file of best quality: 1 channel gray, 3 colours, 4 CMYK as Adobe's programs write it (inverted).
Bytes jpeg_bytes(int height, int width, int channels, const Bytes& pixels, bool progressive = false);

/// A WebP file: 3 channels colours, 4 with alpha; lossy at best quality, or lossless.
Bytes webp_bytes(int height, int width, int channels, const Bytes& pixels, bool lossless = false);

/// Bytes that all are `values`, over and over.
Bytes repeated(std::size_t times, const Bytes& values);

}  // namespace trainer
