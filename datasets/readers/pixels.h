#pragma once

#include <memory>
#include <span>

#include "datasets/dataset.h"

namespace trainer {

/// Files of labelled images, their headers read and checked.
class PixelFiles {
 public:
  virtual ~PixelFiles() = default;
  virtual std::int64_t count() const = 0;
  /// Reads everything, at most once: one label per image, and the images as (count, H, W, C). Error(data) if
  /// a file is bad.
  virtual void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) = 0;
};

/// Labelled images of unsigned bytes, kept in memory as bytes; read() divides them by 255.
class Pixels final : public Dataset {
 public:
  /// `sample` is (H, W, C).
  Pixels(const Shape& sample, int classes, std::unique_ptr<PixelFiles> files)
      : Dataset({.size = files->count(), .sample = sample, .classes = classes}), files_(std::move(files)) {}
  Pixels(const Shape& sample, std::vector<std::string> class_names, std::unique_ptr<PixelFiles> files)
      : Dataset({.size = files->count(),
                 .sample = sample,
                 .classes = static_cast<int>(class_names.size()),
                 .class_names = std::move(class_names)}),
        files_(std::move(files)) {}

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override;
  /// The pixels, then the labels.
  std::int64_t stored_bytes() const override { return pixel_bytes() + size(); }
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  std::int64_t pixel_bytes() const { return sample().with_front(size()).size(); }

  std::unique_ptr<PixelFiles> files_;
  std::span<const std::uint8_t> pixels_, labels_;
};

/// Asks the processor to load bytes into its cache. Shuffled rows lie far apart: each is prefetched
/// kRowsAhead rows before it is read.
void prefetch(const std::uint8_t* bytes, std::size_t count);
constexpr std::size_t kRowsAhead = 8;

/// Transposes one image from (channels, area), as files store it, to (area, channels).
void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out);

}  // namespace trainer
