#include "datasets/transforms/transform.h"

namespace trainer {

ImageExtents image_extents(const Config& transform, const Shape& sample) {
  if (sample.rank() != 3)
    transform.fail("", transform.type() + " requires images, but a sample is " + sample.text(),
                   "remove it from data.augment");
  return {.height = sample[0], .width = sample[1], .channels = sample[2]};
}

}  // namespace trainer
