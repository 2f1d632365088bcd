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
  /// Reads everything, at most once: a label an image, and the images as (count, H, W, C). Error(data) when a
  /// file is bad.
  virtual void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) = 0;
};

/// Labelled images of unsigned bytes, kept in memory as they are; they become numbers when they are read.
class Pixels final : public Dataset {
 public:
  Pixels(const Shape& sample, int classes, std::unique_ptr<PixelFiles> files)
      : sample_(sample), classes_(classes), size_(files->count()), files_(std::move(files)) {}

  std::int64_t size() const override { return size_; }
  Shape sample() const override { return sample_; }
  int classes() const override { return classes_; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override;
  /// The pixels, then the labels.
  std::int64_t stored_bytes() const override { return pixel_bytes() + size_; }
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  std::int64_t pixel_bytes() const { return sample_.with_front(size_).size(); }

  Shape sample_;
  int classes_;
  std::int64_t size_;
  std::unique_ptr<PixelFiles> files_;
  std::span<const std::uint8_t> pixels_, labels_;
};

/// Asks the processor for bytes that will be read soon. Shuffled rows lie far apart: each is fetched while
/// kRowsAhead before it are read.
void prefetch(const std::uint8_t* bytes, std::size_t count);
constexpr std::size_t kRowsAhead = 8;

/// One image from (C, H, W) as files have it to (H, W, C).
void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out);

}  // namespace trainer
