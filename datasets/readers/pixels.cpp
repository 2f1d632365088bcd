#include "datasets/readers/pixels.h"

#include <algorithm>
#include <stdexcept>

#include "engine/math/elementwise.h"

namespace trainer {

void prefetch(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::size_t kLine = 64, kMax = 4096;  // the processor's own prefetcher loads the rest
  for (std::size_t i = 0; i < std::min(count, kMax); i += kLine) __builtin_prefetch(bytes + i);
}

void Pixels::fill(std::span<std::uint8_t> memory) {
  const std::size_t pixels = pixel_bytes();
  files_->read(memory.subspan(pixels), memory.first(pixels));
}

void Pixels::attach(std::span<std::uint8_t> memory) {
  files_.reset();
  pixels_ = memory.first(pixel_bytes());
  labels_ = memory.subspan(pixels_.size());
}

void Pixels::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  for (std::size_t row = 0; row < indices.size(); ++row) {
    if (indices[row] < 0 || indices[row] >= std::ssize(labels_))
      throw std::logic_error("a sample index out of range");
    labels[row] = labels_[indices[row]];
  }
}

void Pixels::read(std::span<const std::int64_t> indices, Tensor x) const {
  const std::size_t area = sample().size();
  const auto image = [&](std::size_t row) { return pixels_.data() + indices[row] * area; };
  for (const std::int64_t index : indices)
    if (index < 0 || (index + 1) * area > pixels_.size())
      throw std::logic_error("a sample index out of range");
  for (std::size_t row = 0; row < std::min(kRowsAhead, indices.size()); ++row) prefetch(image(row), area);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    if (row + kRowsAhead < indices.size()) prefetch(image(row + kRowsAhead), area);
    bytes_to_unit(sample().size(), image(row), x.data() + row * area);
  }
}

void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < area; ++i) out[i * channels + c] = in[c * area + i];
}

}  // namespace trainer
