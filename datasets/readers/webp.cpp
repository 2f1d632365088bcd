#include "datasets/readers/webp.h"

#include <webp/decode.h>

#include <algorithm>
#include <string_view>

namespace trainer {
namespace {

std::string problem_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OK:
      return "";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends early";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory is left";
    default:
      return "its data are invalid";
  }
}

/// Why the image is not decoded; empty if it is.
std::string refusal_of(const WebPBitstreamFeatures& features, std::size_t bytes) {
  enum Format { unknown = 0, lossy = 1 };
  if (features.has_animation != 0) return "an animation; only single images are read";
  // The size of a file that ends before its image is a claim.
  if (features.format == unknown) return problem_of(VP8_STATUS_NOT_ENOUGH_DATA);
  constexpr std::int64_t kDensestLossy = 1 << 10, kDensestLossless = 1 << 13;
  // A lossless image of one colour takes hardly a byte.
  constexpr std::size_t kFewestLossless = 1 << 12;
  if (features.format == lossy)
    return ImageDecoder::refusal(features.height, features.width, bytes, kDensestLossy);
  return ImageDecoder::refusal(features.height, features.width, std::max(bytes, kFewestLossless),
                               kDensestLossless);
}

/// Keeps the colours of pixels that have `from` bytes, as `to` bytes.
void drop_channels(std::int64_t pixels, int from, int to, std::uint8_t* values) {
  const std::uint8_t* in = values;
  for (std::int64_t i = 0; i < pixels; ++i, in += from, values += to)
    write_pixel(in[0], in[1], in[2], to, values);
}

}  // namespace

bool is_webp(std::span<const std::uint8_t> file) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min<std::size_t>(file.size(), 12));
  return start.starts_with("RIFF") && start.ends_with("WEBP");
}

std::string decode_webp(std::span<const std::uint8_t> file, std::int64_t enough, Image& image) {
  WebPDecoderConfig webp;
  WebPInitDecoderConfig(&webp);
  if (const VP8StatusCode status = WebPGetFeatures(file.data(), file.size(), &webp.input);
      status != VP8_STATUS_OK)
    return problem_of(status);
  if (std::string problem = refusal_of(webp.input, file.size()); !problem.empty()) return problem;
  const std::int64_t by = ImageDecoder::reduction(webp.input.height, webp.input.width, enough);
  image.height = (webp.input.height + by - 1) / by;
  image.width = (webp.input.width + by - 1) / by;
  webp.options.use_scaling = by > 1;
  webp.options.scaled_height = static_cast<int>(image.height);
  webp.options.scaled_width = static_cast<int>(image.width);
  // Colours times alpha: over black.
  const int decoded = webp.input.has_alpha != 0 ? 4 : 3;
  webp.output.colorspace = decoded == 4 ? MODE_rgbA : MODE_RGB;
  const std::int64_t area = image.height * image.width;
  image.pixels.resize(area * decoded);
  webp.output.is_external_memory = 1;
  webp.output.u.RGBA = {.rgba = image.pixels.data(),
                        .stride = static_cast<int>(image.width * decoded),
                        .size = image.pixels.size()};
  const VP8StatusCode status = WebPDecode(file.data(), file.size(), &webp);
  if (status == VP8_STATUS_OK && decoded != image.channels) {
    drop_channels(area, decoded, image.channels, image.pixels.data());
    image.pixels.resize(area * image.channels);
  }
  return problem_of(status);
}

}  // namespace trainer
