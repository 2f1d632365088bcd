#include "datasets/readers/pixels.h"

#include <algorithm>
#include <stdexcept>

#include "engine/math/elementwise.h"

namespace trainer {
namespace {

/// Asks the processor for bytes that will be read soon.
void fetch(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::size_t kLine = 64, kMost = 4096;  // of a longer row the processor then sees the end coming
  for (std::size_t i = 0; i < std::min(count, kMost); i += kLine) __builtin_prefetch(bytes + i);
}

}  // namespace

Pixels::Pixels(const Shape& sample, int classes, std::vector<std::uint8_t> pixels,
               std::vector<std::uint8_t> labels)
    : sample_(sample), classes_(classes), pixels_(std::move(pixels)), labels_(std::move(labels)) {
  if (!pixels_.empty() && static_cast<std::int64_t>(pixels_.size()) != sample.with_front(size()).size())
    throw std::logic_error("pixels and labels of different count");
}

void Pixels::read(std::span<const std::int64_t> indices, Tensor x) const {
  const auto area = static_cast<std::size_t>(sample_.size());
  const auto image = [&](std::size_t row) {
    return pixels_.data() + static_cast<std::size_t>(indices[row]) * area;
  };
  for (const std::int64_t index : indices)
    if (index < 0 || (static_cast<std::size_t>(index) + 1) * area > pixels_.size())
      throw std::logic_error("a sample that is not there");
  // Shuffled images lie far apart: each is fetched while those before it are converted.
  constexpr std::size_t kAhead = 8;
  for (std::size_t row = 0; row < std::min(kAhead, indices.size()); ++row) fetch(image(row), area);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    if (row + kAhead < indices.size()) fetch(image(row + kAhead), area);
    bytes_to_unit(sample_.size(), image(row), x.data() + row * area);
  }
}

void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < area; ++i) out[i * channels + c] = in[c * area + i];
}

}  // namespace trainer
