#include "datasets/readers/png.h"

#include <png.h>

#include <memory>

namespace trainer {

bool is_png(std::span<const std::uint8_t> file) {
  return file.size() >= 8 && png_sig_cmp(file.data(), 0, 8) == 0;
}

std::string decode_png(std::span<const std::uint8_t> file, Picture& picture) {
  // libpng's simple interface: it returns where the other one would jump.
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, decltype(&png_image_free)> freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) return image.message;
  constexpr std::int64_t kDensest = 8 * 1032;  // one bit each, deflated
  if (std::string problem = PictureDecoder::refusal(image.height, image.width, file.size(), kDensest);
      !problem.empty())
    return problem;
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  picture.height = image.height;
  picture.width = image.width;
  picture.pixels.resize(PNG_IMAGE_SIZE(image));
  const png_color black{};
  if (png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr) == 0) return image.message;
  return "";
}

}  // namespace trainer
