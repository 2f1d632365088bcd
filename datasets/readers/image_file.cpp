#include "datasets/readers/image_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/image_ending.h"
#include "datasets/readers/jpeg.h"
#include "datasets/readers/png.h"
#include "datasets/readers/webp.h"
#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {

std::string ImageDecoder::refusal(std::int64_t height, std::int64_t width, std::size_t bytes,
                                  std::int64_t densest) {
  if (height * width > kMaxPixels)
    return fmt::format("{}x{} pixels; at most {} are read", height, width, kMaxPixels);
  if (height * width / densest > static_cast<std::int64_t>(bytes))
    return fmt::format("{}x{} pixels are more than {} bytes can hold", height, width, bytes);
  return "";
}

std::int64_t ImageDecoder::reduction(std::int64_t height, std::int64_t width, std::int64_t enough) {
  const std::int64_t shorter = std::min(height, width);
  std::int64_t by = 8;
  while (by > 1 && shorter / by < enough) by /= 2;
  return by;
}

bool ImageDecoder::is_image(std::string_view start) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(start.data()), start.size());
  return start.starts_with("\x89PNG") || is_jpeg(bytes) || is_webp(bytes);
}

bool ImageDecoder::has_image_name(std::string_view name) {
  return is_image_ending(name.substr(name.rfind('.') + 1));
}

void ImageDecoder::read_file(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const InputFile file(path, ExitCode::data);
  if (file.size() > kLargestImageFile)
    throw Error(ExitCode::data, {Diagnostic{.what = "image file is too large",
                                            .place = path,
                                            .notes = {fmt::format("{} bytes", file.size())}}});
  bytes.resize(file.size());
  file.read(0, std::as_writable_bytes(std::span(bytes)));
}

std::string ImageDecoder::ending_of(std::span<const std::uint8_t> file) {
  return is_png(file) ? "png" : is_jpeg(file) ? "jpg" : is_webp(file) ? "webp" : "";
}

void ImageDecoder::decode(const std::string& path, int channels, std::int64_t enough, Image& image) {
  read_file(path, file_);
  decode(file_, path, channels, enough, image);
}

void ImageDecoder::decode(std::span<const std::uint8_t> file, const std::string& path, int channels,
                          std::int64_t enough, Image& image) {
  const auto fail = [&](const std::string& what, const std::string& note) {
    throw Error(ExitCode::data, {Diagnostic{.what = what, .place = path, .notes = {note}}});
  };
  if (file.empty()) fail("image file is empty", "0 bytes");
  if (file.size() > kLargestImageFile) fail("image file is too large", fmt::format("{} bytes", file.size()));
  image.channels = channels;
  std::string problem;
  if (is_png(file))
    problem = decode_png(file, image);
  else if (is_jpeg(file))
    problem = decode_jpeg(file, enough, row_, image);
  else if (is_webp(file))
    problem = decode_webp(file, enough, image);
  else
    fail("neither PNG, JPEG nor WebP", "its first bytes are of no format that is read");
  if (!problem.empty()) fail("image file is damaged or cannot be read", problem);
}

}  // namespace trainer
