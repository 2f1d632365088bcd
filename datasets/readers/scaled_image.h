#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/readers/image_file.h"
#include "datasets/transforms/resample.h"

namespace trainer {

/// Decodes image files, crops them to one aspect ratio and scales them to one size. Reuses its memory; use
/// one per thread.
class ImageScaler {
 public:
  /// `crop`: side of the centre crop, relative to the largest one of that aspect ratio, in (0, 1].
  ImageScaler(const ImageExtents& extents, double crop) : extents_(extents), crop_(crop) {}

  /// Writes (height, width, channels), pixels in [0, 1]. Error(data) as ImageDecoder::decode().
  void read(const std::string& path, float* out);
  /// The same for the bytes of a file; `path` names it in messages.
  void read(std::span<const std::uint8_t> file, const std::string& path, float* out);

 private:
  std::int64_t enough() const;
  void scale(float* out);
  Window centre(const ImageExtents& in) const;

  ImageExtents extents_;
  double crop_;
  ImageDecoder decoder_;
  Image image_;
  std::vector<float> scratch_;
};

}  // namespace trainer
