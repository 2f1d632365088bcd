#include "datasets/readers/png.h"

#include <png.h>

#include <memory>

#include "engine/core/error.h"

namespace trainer {

bool is_png(std::span<const std::uint8_t> file) {
  return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0;
}

namespace {

/// Colours times alpha (over black), or their gray, in the place of pixels of 3 or 4 bytes.
void keep_colours(std::int64_t pixels, bool has_alpha, int channels, std::uint8_t* values) {
  const std::uint8_t* in = values;
  for (std::int64_t i = 0; i < pixels; ++i, in += has_alpha ? 4 : 3, values += channels) {
    const auto light = [&](int k) { return has_alpha ? (in[k] * in[3] + 127u) / 255 : unsigned{in[k]}; };
    write_pixel(light(0), light(1), light(2), channels, values);
  }
}

}  // namespace

std::string decode_png(std::span<const std::uint8_t> file, Image& image) {
  // libpng's simplified interface returns errors; the other one calls longjmp.
  png_image source{};
  source.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&source, png_image_free);
  if (png_image_begin_read_from_memory(&source, file.data(), file.size()) == 0) return source.message;
  constexpr std::int64_t kDensest = 8 * 1032;  // one bit each, deflated
  if (std::string problem = ImageDecoder::refusal(source.height, source.width, file.size(), kDensest);
      !problem.empty())
    return problem;
  // As other programs read it: 16 bits without a gamma are no linear light.
  source.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  const bool has_alpha = (source.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  source.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  image.height = source.height;
  image.width = source.width;
  image.pixels.resize(PNG_IMAGE_SIZE(source));
  if (png_image_finish_read(&source, nullptr, image.pixels.data(), 0, nullptr) == 0) return source.message;
  keep_colours(image.height * image.width, has_alpha, image.channels, image.pixels.data());
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width * image.channels));
  return "";
}

std::string encoded_png(const Image& image) {
  png_image target{};
  target.version = PNG_IMAGE_VERSION;
  target.height = static_cast<png_uint_32>(image.height);
  target.width = static_cast<png_uint_32>(image.width);
  target.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(target);
  std::string file(bytes, '\0');
  if (png_image_write_to_memory(&target, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr) == 0)
    throw Error(ExitCode::failure, std::string("cannot encode an image: ") + target.message);
  file.resize(bytes);
  return file;
}

}  // namespace trainer
