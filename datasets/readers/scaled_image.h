#pragma once

#include <string>
#include <vector>

#include "datasets/readers/image_file.h"
#include "datasets/transforms/resample.h"

namespace trainer {

/// Decodes image files and makes them all of one size. Keeps its memory from one to the next; one for each
/// thread.
class ImageScaler {
 public:
  /// `crop`: side of the part that is taken, out of the middle, relative to the largest of that form.
  ImageScaler(const ImageExtents& extents, double crop) : extents_(extents), crop_(crop) {}

  /// Writes (height, width, channels), pixels as x / 255. Error(data) as ImageDecoder has it.
  void read(const std::string& path, float* out);

 private:
  Window centre(const ImageExtents& in) const;

  ImageExtents extents_;
  double crop_;
  ImageDecoder decoder_;
  Image image_;
  std::vector<float> scratch_;
};

}  // namespace trainer
