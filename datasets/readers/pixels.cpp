#include "datasets/readers/pixels.h"

#include <stdexcept>

#include "engine/math/elementwise.h"

namespace trainer {

Pixels::Pixels(const Shape& sample, int classes, std::vector<std::uint8_t> pixels,
               std::vector<std::uint8_t> labels)
    : sample_(sample), classes_(classes), pixels_(std::move(pixels)), labels_(std::move(labels)) {
  if (!pixels_.empty() && static_cast<std::int64_t>(pixels_.size()) != sample.with_front(size()).size())
    throw std::logic_error("pixels and labels of different count");
}

void Pixels::read(std::span<const std::int64_t> indices, Tensor x) const {
  const auto area = static_cast<std::size_t>(sample_.size());
  float* row = x.data();
  for (const std::int64_t index : indices) {
    const std::size_t first = static_cast<std::size_t>(index) * area;
    if (index < 0 || first + area > pixels_.size()) throw std::logic_error("a sample that is not there");
    bytes_to_unit(sample_.size(), pixels_.data() + first, row);
    row += area;
  }
}

void channels_last(std::int64_t channels, std::int64_t area, const std::uint8_t* in, std::uint8_t* out) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < area; ++i) out[i * channels + c] = in[c * area + i];
}

}  // namespace trainer
