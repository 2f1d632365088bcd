#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainer {

/// A image as a file holds it: bytes (height, width, channels), gray or red, green, blue.
struct Image {
  std::int64_t height = 0, width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes PNG (by libpng) and JPEG (by libjpeg) files. Keeps its memory from one file to the next; one for
/// each thread.
class ImageDecoder {
 public:
  /// Reads `path` into `image`, with 1 channel (gray) or 3. What its name ends in does not matter. JPEG may
  /// come at 1/2, 1/4 or 1/8 of its size, as long as no side falls below `enough`. Error(data) when the file
  /// is damaged, of another kind, or larger than kMostPixels. Orientation tags (EXIF) are ignored.
  void decode(const std::string& path, int channels, std::int64_t enough, Image& image);

  static constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
  /// Why a image of this size is not decoded from so many bytes, of which each can hold `densest` pixels at
  /// most; empty when it may be.
  static std::string refusal(std::int64_t height, std::int64_t width, std::size_t bytes,
                             std::int64_t densest);

 private:
  std::vector<std::uint8_t> file_, row_;
};

}  // namespace trainer
