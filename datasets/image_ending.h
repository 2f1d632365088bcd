#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/lower_case.h"

namespace trainer {

/// "jpg" or "JPEG", for example: the formats that ImageDecoder reads.
inline bool is_image_ending(std::string_view ending) {
  const std::string small = lower_case(ending);
  return small == "jpg" || small == "jpeg" || small == "png" || small == "webp";
}

/// Bytes.
constexpr std::uint64_t kLargestImageFile = std::uint64_t{1} << 28;

}  // namespace trainer
