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

/// A split of the drawn digits. Each is drawn when a rank of the host first reads it, then kept for all of
/// them: no run waits for all digits, and none is drawn twice.
class DrawnDigits final : public Dataset {
 public:
  DrawnDigits(DigitSplit split, std::int64_t size) : split_(split), size_(size) {}

  std::int64_t size() const override { return size_; }
  Shape sample() const override { return {kDigitSize, kDigitSize, 1}; }
  int classes() const override { return 10; }
  std::int32_t label(std::int64_t index) const override { return drawn_label(split_, index); }

  /// The pixels, then what is known of each digit.
  std::int64_t stored_bytes() const override { return size_ * (kPixels + 1); }
  void fill(std::span<std::uint8_t> memory) override {
    std::ranges::fill(memory.last(static_cast<std::size_t>(size_)), kBlank);
  }
  void attach(std::span<std::uint8_t> memory) override {
    pixels_ = memory.first(static_cast<std::size_t>(size_ * kPixels));
    progress_ = memory.last(static_cast<std::size_t>(size_));
  }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    float* row = x.data();
    for (std::size_t i = 0; i < indices.size(); ++i, row += kPixels) {
      if (i + kRowsAhead < indices.size()) prefetch(image(indices[i + kRowsAhead]).data(), kPixels);
      const Image kept = image(indices[i]);
      if (is_drawn(indices[i], kept)) {
        bytes_to_unit(kPixels, kept.data(), row);
      } else {
        // Somebody else is just drawing it: rather than to wait, once more.
        std::array<std::uint8_t, kPixels> own;
        draw_digit(split_, indices[i], own);
        bytes_to_unit(kPixels, own.data(), row);
      }
    }
  }

 private:
  static constexpr std::int64_t kPixels = kDigitSize * kDigitSize;
  /// What is known of a digit.
  static constexpr std::uint8_t kBlank = 0, kBegun = 1, kDrawn = 2;
  using Image = std::span<std::uint8_t, kPixels>;

  Image image(std::int64_t index) const {
    if (index < 0 || index >= size_) throw std::logic_error("a digit that is not there");
    return Image(pixels_.subspan(static_cast<std::size_t>(index * kPixels), kPixels));
  }

  bool is_drawn(std::int64_t index, Image kept) const {
    const std::atomic_ref progress(progress_[static_cast<std::size_t>(index)]);
    std::uint8_t seen = progress.load(std::memory_order_acquire);
    if (seen == kBlank && progress.compare_exchange_strong(seen, kBegun)) {
      draw_digit(split_, index, kept);
      progress.store(kDrawn, std::memory_order_release);
      return true;
    }
    return seen == kDrawn;
  }

  DigitSplit split_;
  std::int64_t size_;
  std::span<std::uint8_t> pixels_, progress_;
};

class Digits final : public Reader {
 public:
  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    return {.name = "digits",
            .train = std::make_unique<DrawnDigits>(DigitSplit::train, kTrain),
            .test = std::make_unique<DrawnDigits>(DigitSplit::test, kTest),
            .fingerprint = {"digits, drawn by version 1 of the program's pen"}};
  }
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "digits",
     .help = "60,000 + 10,000 digits of 28x28 pixels that the program draws; needs no file"},
    [](const Config&, const ReaderContext&) { return std::make_unique<Digits>(); }};

}  // namespace
}  // namespace trainer
