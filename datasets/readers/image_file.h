#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A decoded image: bytes (height, width, channels), gray or RGB.
struct Image {
  std::int64_t height = 0, width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// The gray of a colour, by the weights of ITU-R BT.601.
inline std::uint8_t gray_of(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((299 * red + 587 * green + 114 * blue + 500) / 1000);
}
/// One pixel of 3 channels, or its gray.
inline void write_pixel(unsigned red, unsigned green, unsigned blue, int channels, std::uint8_t* to) {
  if (channels == 1) {
    to[0] = gray_of(red, green, blue);
  } else {
    to[0] = static_cast<std::uint8_t>(red);
    to[1] = static_cast<std::uint8_t>(green);
    to[2] = static_cast<std::uint8_t>(blue);
  }
}

/// Decodes PNG (libpng), JPEG (libjpeg) and WebP (libwebp) files. Reuses its memory; use one per thread.
class ImageDecoder {
 public:
  /// Decodes `path` into `image` with 1 channel (gray) or 3. The content decides the format, not the name. A
  /// JPEG or WebP may be decoded at 1/2, 1/4 or 1/8 of its size if both sides keep at least `enough` pixels.
  /// EXIF orientation is ignored. Error(data) if the file is damaged, of another format, or has more than
  /// kMaxPixels.
  void decode(const std::string& path, int channels, std::int64_t enough, Image& image);
  /// The same for the bytes of a file; `path` names it in messages.
  void decode(std::span<const std::uint8_t> file, const std::string& path, int channels, std::int64_t enough,
              Image& image);

  /// Reads a whole image file. Error(data) if it has more than kLargestImageFile bytes.
  static void read_file(const std::string& path, std::vector<std::uint8_t>& bytes);
  /// "jpg", "png" or "webp" by the content; empty for other formats.
  static std::string ending_of(std::span<const std::uint8_t> file);

  static constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;
  /// Why an image of this size is not decoded from a file of `bytes`, each of which holds at most `densest`
  /// pixels; empty if it is decoded.
  static std::string refusal(std::int64_t height, std::int64_t width, std::size_t bytes,
                             std::int64_t densest);
  /// The largest of 1, 2, 4 and 8 by which the size may be divided so that both sides keep `enough` pixels.
  static std::int64_t reduction(std::int64_t height, std::int64_t width, std::int64_t enough);

  /// True if a file that starts like this is of a format that is read; kMagicBytes are enough to see it.
  static bool is_image(std::string_view start);
  static constexpr std::size_t kMagicBytes = 12;
  /// True if a file's name ends like that of an image, in small letters or capitals: kNames.
  static bool has_image_name(std::string_view name);
  static constexpr const char* kNames = ".jpg, .jpeg, .png or .webp";

 private:
  std::vector<std::uint8_t> file_, row_;
};

}  // namespace trainer
