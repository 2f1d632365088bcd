#pragma once

#include <string>
#include <vector>

#include "datasets/readers/picture_file.h"
#include "datasets/transforms/resample.h"

namespace trainer {

/// Decodes picture files and makes them all of one size. Keeps its memory from one to the next; one for each
/// thread.
class PictureScaler {
 public:
  /// `crop`: side of the part that is taken, out of the middle, relative to the largest of that form.
  PictureScaler(const PictureExtents& extents, double crop) : extents_(extents), crop_(crop) {}

  /// Writes (height, width, channels), pixels as x / 255. Error(data) as PictureDecoder has it.
  void read(const std::string& path, float* out);

 private:
  Window centre(const PictureExtents& in) const;

  PictureExtents extents_;
  double crop_;
  PictureDecoder decoder_;
  Picture picture_;
  std::vector<float> scratch_;
};

}  // namespace trainer
