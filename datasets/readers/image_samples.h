#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/readers/scaled_image.h"
#include "engine/config/setting.h"

namespace trainer {

/// How image files become samples.
struct ImageForm {
  ImageExtents extents{};
  double crop = 1;             ///< of ImageScaler
  bool skips_damaged = false;  ///< images that cannot be decoded are left out
};

/// Adds the settings that image_form() reads: size, crop, gray, damaged.
std::vector<Setting> with_image_settings(std::vector<Setting> settings);
ImageForm image_form(const Config& config);

/// Image files that are decoded at each read, cropped to one aspect ratio and scaled to one size.
class ImageSamples : public Dataset {
 public:
  /// Error(data) if an image is damaged, with `help`.
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::vector<std::uint8_t> image_file(std::int64_t index) const override;

 protected:
  /// Sets the shape of samples in `info`.
  ImageSamples(DatasetInfo info, const ImageForm& form, std::string help);
  /// For messages, too.
  virtual std::string path(std::int64_t index) const = 0;
  /// Reads and decodes the file at path(). Samples that lie within other files override both.
  virtual void read_file(std::int64_t index, std::vector<std::uint8_t>& bytes) const {
    ImageDecoder::read_file(path(index), bytes);
  }
  virtual void decode(std::int64_t index, ImageScaler& scaler, float* out) const {
    scaler.read(path(index), out);
  }

 private:
  /// A scaler that no other thread uses; read() puts it back.
  std::unique_ptr<ImageScaler> borrow() const;

  ImageForm form_;
  std::string help_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ImageScaler>> scalers_;
};

/// The help for a damaged image of the reader `name`.
std::string help_for_damaged(const std::string& name);

}  // namespace trainer
