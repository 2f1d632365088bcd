#include "datasets/readers/image_samples.h"

#include <utility>

namespace trainer {
namespace {

DatasetInfo with_shape(DatasetInfo info, const ImageExtents& extents) {
  info.sample = {extents.height, extents.width, extents.channels};
  info.is_streamed = true;
  return info;
}

}  // namespace

std::vector<Setting> with_image_settings(std::vector<Setting> settings) {
  const std::vector<Setting> more{
      integers("size", "height and width to which images are scaled", 2).at_least(1).at_most(1 << 14),
      real("crop", "side of the centre crop, relative to the largest one").above(0).at_most(1).fallback("1"),
      boolean("gray", "convert images to one channel").fallback("false"),
      choice("damaged",
             "error: a damaged image ends the run when it is read; skip: all images are read before the "
             "run, and damaged ones left out",
             {"error", "skip"})
          .fallback("error")};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

ImageForm image_form(const Config& config) {
  const auto size = config.get<std::vector<std::int64_t>>("size");
  return {.extents = {size[0], size[1], config.get<bool>("gray") ? 1 : 3},
          .crop = config.get<double>("crop"),
          .skips_damaged = config.get<std::string>("damaged") == "skip"};
}

std::string help_for_damaged(const std::string& name) {
  return "`damaged: skip` in " + name + " looks at all images first, and leaves such ones out";
}

ImageSamples::ImageSamples(DatasetInfo info, const ImageForm& form, std::string help)
    : Dataset(with_shape(std::move(info), form.extents)), form_(form), help_(std::move(help)) {}

void ImageSamples::read(std::span<const std::int64_t> indices, Tensor x) const {
  std::unique_ptr<ImageScaler> scaler = borrow();
  try {
    for (std::size_t row = 0; row < indices.size(); ++row)
      decode(indices[row], *scaler, x.data() + static_cast<std::int64_t>(row) * form_.extents.size());
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    if (diagnostics.front().help.empty()) diagnostics.front().help = help_;
    throw Error(error.code(), std::move(diagnostics));
  }
  const std::lock_guard lock(mutex_);
  scalers_.push_back(std::move(scaler));
}

std::vector<std::uint8_t> ImageSamples::image_file(std::int64_t index) const {
  std::vector<std::uint8_t> bytes;
  read_file(index, bytes);
  if (ImageDecoder::ending_of(bytes).empty())
    throw Error(ExitCode::data, {Diagnostic{.what = "neither PNG, JPEG nor WebP",
                                            .place = path(index),
                                            .notes = {"its first bytes are of no format that is read"},
                                            .help = help_}});
  return bytes;
}

std::unique_ptr<ImageScaler> ImageSamples::borrow() const {
  const std::lock_guard lock(mutex_);
  if (scalers_.empty()) return std::make_unique<ImageScaler>(form_.extents, form_.crop);
  auto scaler = std::move(scalers_.back());
  scalers_.pop_back();
  return scaler;
}

}  // namespace trainer
