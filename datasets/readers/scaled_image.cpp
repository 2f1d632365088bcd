#include "datasets/readers/scaled_image.h"

#include <algorithm>
#include <cmath>

namespace trainer {

std::int64_t ImageScaler::enough() const {
  const auto longer = static_cast<double>(std::max(extents_.height, extents_.width));
  return static_cast<std::int64_t>(std::ceil(longer / crop_));
}

void ImageScaler::read(const std::string& path, float* out) {
  decoder_.decode(path, static_cast<int>(extents_.channels), enough(), image_);
  scale(out);
}

void ImageScaler::read(std::span<const std::uint8_t> file, const std::string& path, float* out) {
  decoder_.decode(file, path, static_cast<int>(extents_.channels), enough(), image_);
  scale(out);
}

void ImageScaler::scale(float* out) {
  const ImageExtents in{image_.height, image_.width, extents_.channels};
  const std::size_t scratch = resample_scratch(in, extents_.width);
  if (scratch_.size() < scratch) scratch_.resize(scratch);
  resample(image_.pixels.data(), in, centre(in), out, extents_, scratch_);
  constexpr float kWhite = 255;
  for (std::int64_t i = 0; i < extents_.size(); ++i) out[i] /= kWhite;
}

/// The centre crop: the largest window of the output's aspect ratio, times crop_.
Window ImageScaler::centre(const ImageExtents& in) const {
  const auto height = static_cast<double>(in.height), width = static_cast<double>(in.width);
  const double scale = crop_ * std::min(height / static_cast<double>(extents_.height),
                                        width / static_cast<double>(extents_.width));
  Window window{.height = scale * static_cast<double>(extents_.height),
                .width = scale * static_cast<double>(extents_.width)};
  window.top = (height - window.height) / 2;
  window.left = (width - window.width) / 2;
  return window;
}

}  // namespace trainer
