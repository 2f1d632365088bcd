#include "models/layers/pooling.h"

#include <fmt/format.h>

#include "models/layers/conv.h"

namespace trainer {
std::vector<Setting> pooling_settings() {
  return {
      integers("size", "height and width of the window", 2).at_least(1).at_most(kMaxExtent),
      integers("stride", "step from one window to the next; when not given, the size", 2)
          .at_least(1)
          .at_most(kMaxExtent)
          .optional(),
      integers("pad", "positions added on each side of the map, at most half the window", 2)
          .at_least(0)
          .at_most(kMaxExtent)
          .fallback("0"),
  };
}

PoolingGeometry pooling_geometry(const Config& config, const Plan& plan, const Shape& sample) {
  require_map(config, plan, sample);
  const auto size = extents_of(config, "size"), pad = extents_of(config, "pad");
  const auto stride = config.has("stride") ? extents_of(config, "stride") : size;
  if (2 * pad.h > size.h || 2 * pad.w > size.w)
    config.fail("pad", fmt::format("the padding is more than half the window, {}x{}", size.h, size.w));
  const PoolingGeometry geometry{.height = sample[0],
                                 .width = sample[1],
                                 .channels = sample[2],
                                 .size_h = size.h,
                                 .size_w = size.w,
                                 .stride_h = stride.h,
                                 .stride_w = stride.w,
                                 .pad_h = pad.h,
                                 .pad_w = pad.w};
  if (geometry.out_height() < 1 || geometry.out_width() < 1)
    fail_to_fit(config, plan, sample, fmt::format("window {}x{}", size.h, size.w),
                "a smaller window, or fewer layers before it that shrink the map");
  return geometry;
}

Shape pooled_shape(const PoolingGeometry& geometry) {
  return {geometry.out_height(), geometry.out_width(), geometry.channels};
}

Attributes pooling_attributes(const PoolingGeometry& g) {
  using Integers = std::vector<std::int64_t>;
  return {{"kernel_shape", Integers{g.size_h, g.size_w}},
          {"strides", Integers{g.stride_h, g.stride_w}},
          {"pads", Integers{g.pad_h, g.pad_w, g.pad_h, g.pad_w}}};
}

}  // namespace trainer
