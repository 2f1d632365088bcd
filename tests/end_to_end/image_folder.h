#pragma once

#include <filesystem>
#include <string>

#include "tests/support/images.h"
#include "tests/support/small_data.h"

namespace trainer {

/// 26 PNG and JPEG images of 12 x 10 pixels for each of train and val, in the classes even and odd.
inline void write_image_folder(const std::filesystem::path& root) {
  for (const std::string split : {"train", "val"})
    for (int i = 0; i < 26; ++i) {
      Bytes pixels(12 * 10 * 3);
      for (std::size_t k = 0; k < pixels.size(); ++k)
        pixels[k] = static_cast<std::uint8_t>((static_cast<std::size_t>(i) * 37 + k * 11) % 256);
      const auto folder = root / split / (i % 2 == 0 ? "even" : "odd");
      std::filesystem::create_directories(folder);
      const Bytes bytes = i % 3 == 0 ? png_bytes(12, 10, 3, pixels) : jpeg_bytes(12, 10, 3, pixels);
      write_text(folder / (std::to_string(i) + ".jpg"), {bytes.begin(), bytes.end()});
    }
}

}  // namespace trainer
