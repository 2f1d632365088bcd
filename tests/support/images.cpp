#include "tests/support/images.h"

#include <png.h>
#include <webp/encode.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

// It needs <cstdio> before it.
#include <jpeglib.h>

namespace trainer {
namespace {

Bytes written(png_image& image, const void* pixels, const void* palette) {
  png_alloc_size_t size = 0;
  REQUIRE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels, 0, palette) != 0);
  Bytes bytes(size);
  REQUIRE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, palette) != 0);
  bytes.resize(size);
  return bytes;
}

png_image image_of(int height, int width, png_uint_32 format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = format;
  return image;
}

}  // namespace

Bytes png_bytes(int height, int width, int channels, const Bytes& pixels) {
  const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  png_image image = image_of(height, width, formats[channels - 1]);
  return written(image, pixels.data(), nullptr);
}

Bytes palette_png_bytes(int height, int width, const Bytes& palette, const Bytes& pixels) {
  png_image image = image_of(height, width, PNG_FORMAT_RGB_COLORMAP);
  image.colormap_entries = static_cast<png_uint_32>(palette.size() / 3);
  return written(image, pixels.data(), palette.data());
}

Bytes deep_png_bytes(int height, int width, const std::vector<std::uint16_t>& pixels) {
  png_image image = image_of(height, width, PNG_FORMAT_LINEAR_Y);
  return written(image, pixels.data(), nullptr);
}

Bytes jpeg_bytes(int height, int width, int channels, const Bytes& pixels, bool progressive) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr problems;
  jpeg.err = jpeg_std_error(&problems);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t stride = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data()) + jpeg.next_scanline * stride;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  Bytes bytes(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return bytes;
}

Bytes webp_bytes(int height, int width, int channels, const Bytes& pixels, bool lossless) {
  const bool alpha = channels == 4;
  const int stride = width * channels;
  constexpr float kBest = 100;
  std::uint8_t* memory = nullptr;
  std::size_t size = 0;
  if (lossless)
    size = (alpha ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB)(pixels.data(), width, height, stride,
                                                                    &memory);
  else
    size = (alpha ? WebPEncodeRGBA : WebPEncodeRGB)(pixels.data(), width, height, stride, kBest, &memory);
  Bytes bytes(memory, memory + size);
  WebPFree(memory);
  return bytes;
}

Bytes repeated(std::size_t times, const Bytes& values) {
  Bytes bytes;
  for (std::size_t i = 0; i < times; ++i) bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

}  // namespace trainer
