#include <memory>
#include <mutex>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/readers/digit_drawing.h"
#include "engine/config/registry.h"
#include "engine/math/elementwise.h"

namespace trainer {
namespace {

constexpr std::int64_t kTrain = 60000, kTest = 10000;

/// A split of the drawn digits. Each is drawn when it is first read, then kept: so a rank draws only what it
/// trains on, and no run waits for all of them.
class DrawnDigits final : public Dataset {
 public:
  DrawnDigits(DigitSplit split, std::int64_t size)
      : split_(split),
        size_(size),
        pixels_(std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(size) * kPixels)),
        drawn_(static_cast<std::size_t>(size)) {}

  std::int64_t size() const override { return size_; }
  Shape sample() const override { return {kDigitSize, kDigitSize, 1}; }
  int classes() const override { return 10; }
  std::int32_t label(std::int64_t index) const override { return drawn_label(split_, index); }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    float* row = x.data();
    for (const std::int64_t index : indices) {
      const auto position = static_cast<std::size_t>(index);
      std::uint8_t* const pixels = pixels_.get() + position * kPixels;
      std::call_once(drawn_.at(position),
                     [&] { draw_digit(split_, index, std::span<std::uint8_t, kPixels>(pixels, kPixels)); });
      bytes_to_unit(kPixels, pixels, row);
      row += kPixels;
    }
  }

 private:
  static constexpr std::size_t kPixels = kDigitSize * kDigitSize;

  DigitSplit split_;
  std::int64_t size_;
  std::unique_ptr<std::uint8_t[]> pixels_;
  mutable std::vector<std::once_flag> drawn_;
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
