#include "cli/templates/image_sizes.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "datasets/readers/image_file.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOfClass = 5, kClasses = 20;  // that are looked at

/// Sorted visible entries of a folder; none if it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem))
    if (!entry->path().filename().string().starts_with('.')) paths.push_back(entry->path());
  std::ranges::sort(paths);
  return paths;
}

/// The first images of each class folder.
std::vector<std::string> some_images(const fs::path& folder) {
  std::vector<std::string> images;
  std::size_t classes = 0;
  for (const fs::path& name : entries(folder)) {
    std::error_code problem;
    if (!fs::is_directory(name, problem) || ++classes > kClasses) continue;
    std::size_t count = 0;
    for (const fs::path& file : entries(name))
      if (ImageDecoder::has_image_name(file.string()) && count++ < kOfClass) images.push_back(file.string());
  }
  return images;
}

bool has_colours(const Image& image) {
  for (std::size_t i = 0; i + 2 < image.pixels.size(); i += 3)
    if (image.pixels[i] != image.pixels[i + 1] || image.pixels[i] != image.pixels[i + 2]) return true;
  return false;
}

/// A size near that of the images which many layers halve well, and which a processor trains in reasonable
/// time.
int size_for(std::int64_t side) {
  if (side <= 32) return static_cast<int>(std::max<std::int64_t>(side, 4));
  return side < 64 ? 32 : side < 128 ? 64 : 96;
}

}  // namespace

ShownImages shown_images(const std::string& folder) {
  ShownImages shown{.train = "train", .test = ""};
  std::vector<std::string> images = some_images(fs::path(folder) / shown.train);
  if (images.empty()) {
    shown.train = ".";
    images = some_images(folder);
  }
  if (images.empty())
    throw Error(ExitCode::data,
                {Diagnostic{.what = "no class folder with images found",
                            .place = folder,
                            .notes = {"looked for train/CLASS/*.png, CLASS/*.png, and .jpg, .jpeg, .webp"},
                            .help = "each class has a folder with its images"}});
  if (shown.train == "train")
    for (const char* name : {"val", "test"})
      if (shown.test.empty() && !some_images(fs::path(folder) / name).empty()) shown.test = name;
  ImageDecoder decoder;
  Image image;
  std::vector<std::int64_t> sides;
  shown.is_gray = true;
  for (const std::string& file : images) {
    decoder.decode(file, 3, ImageDecoder::kMaxPixels, image);
    sides.push_back(std::min(image.height, image.width));
    shown.is_gray = shown.is_gray && !has_colours(image);
  }
  std::ranges::sort(sides);
  shown.size = size_for(sides[sides.size() / 2]);
  return shown;
}

}  // namespace trainer
