#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>

#include "datasets/dataset.h"
#include "datasets/readers/digit_drawing.h"
#include "datasets/readers/pixels.h"
#include "engine/config/registry.h"
#include "engine/math/elementwise.h"

namespace trainer {
namespace {

constexpr std::int64_t kTrain = 60000, kTest = 10000;

/// A split of the drawn digits. Each is drawn at its first read and kept for all ranks of the host, so that
/// no run waits for all digits. With `by_pixel` each pixel has a label: the digit if it is ink, else
/// kBackground.
class DrawnDigits final : public Dataset {
 public:
  DrawnDigits(DigitSplit split, std::int64_t size, bool by_pixel)
      : Dataset({.size = size,
                 .sample = {kDigitSize, kDigitSize, 1},
                 .classes = by_pixel ? kBackground + 1 : kBackground,
                 .positions = by_pixel ? kPixels : 0}),
        split_(split) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    auto label = labels.begin();
    if (positions() == 0) {
      for (const std::int64_t index : indices) *label++ = drawn_label(split_, index);
      return;
    }
    constexpr std::uint8_t kInk = 128;
    Drawing own;
    for (const std::int64_t index : indices) {
      const std::int32_t digit = drawn_label(split_, index);
      for (const std::uint8_t pixel : drawn(index, own)) *label++ = pixel < kInk ? kBackground : digit;
    }
  }

  /// The pixels, then the state of each digit.
  std::int64_t stored_bytes() const override { return size() * (kPixels + 1); }
  void fill(std::span<std::uint8_t> memory) override { std::ranges::fill(memory.last(size()), kBlank); }
  void attach(std::span<std::uint8_t> memory) override {
    pixels_ = memory.first(size() * kPixels);
    progress_ = memory.last(size());
  }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    float* row = x.data();
    Drawing own;
    for (std::size_t i = 0; i < indices.size(); ++i, row += kPixels) {
      if (i + kRowsAhead < indices.size()) prefetch(image(indices[i + kRowsAhead]).data(), kPixels);
      bytes_to_unit(kPixels, drawn(indices[i], own).data(), row);
    }
  }

 private:
  static constexpr std::int64_t kPixels = kDigitSize * kDigitSize;
  // States of a digit.
  static constexpr std::uint8_t kBlank = 0, kBegun = 1, kDrawn = 2;
  static constexpr std::int32_t kBackground = 10;
  using Image = std::span<std::uint8_t, kPixels>;
  using Drawing = std::array<std::uint8_t, kPixels>;

  Image image(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::logic_error("a sample index out of range");
    return Image(pixels_.subspan(index * kPixels, kPixels));
  }

  bool is_drawn(std::int64_t index, Image kept) const {
    const std::atomic_ref progress(progress_[index]);
    std::uint8_t seen = progress.load(std::memory_order_acquire);
    if (seen == kBlank && progress.compare_exchange_strong(seen, kBegun)) {
      draw_digit(split_, index, kept);
      progress.store(kDrawn, std::memory_order_release);
      return true;
    }
    return seen == kDrawn;
  }

  Image drawn(std::int64_t index, Drawing& own) const {
    const Image kept = image(index);
    if (is_drawn(index, kept)) return kept;
    // Another thread draws it right now: drawing it again is faster than waiting.
    draw_digit(split_, index, own);
    return own;
  }

  DigitSplit split_;
  std::span<std::uint8_t> pixels_, progress_;
};

class Digits final : public Reader {
 public:
  explicit Digits(const Config& config) : by_pixel_(config.get<std::string>("labels") == "pixels") {}
  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    return {.name = "digits",
            .train = std::make_unique<DrawnDigits>(DigitSplit::train, kTrain, by_pixel_),
            .test = std::make_unique<DrawnDigits>(DigitSplit::test, kTest, by_pixel_),
            .fingerprint = {std::string("digits, drawn by version 1 of the program's pen") +
                            (by_pixel_ ? ", labels of pixels" : "")}};
  }

 private:
  bool by_pixel_;
};

const Registry<Reader, const ReaderContext&>::Add digits_reader{
    {.name = "digits",
     .help = "60,000 + 10,000 digits of 28x28 pixels that the program draws; needs no file",
     .settings = {choice("labels",
                         "images: one label per image; pixels: one per pixel, 10 for the background",
                         {"images", "pixels"})
                      .fallback("images")}},
    [](const Config& config, const ReaderContext&) { return std::make_unique<Digits>(config); }};

}  // namespace
}  // namespace trainer
