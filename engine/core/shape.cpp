#include "engine/core/shape.h"

#include <algorithm>
#include <cassert>

#include "engine/core/error.h"

namespace trainer {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  if (extents.size() > kMaxRank) throw Error(ExitCode::usage, "a shape has at most 6 extents");
  if (std::ranges::any_of(extents, [](std::int64_t extent) { return extent < 0; }))
    throw Error(ExitCode::usage, "a shape has no negative extents");
  std::ranges::copy(extents, extents_.begin());
}

std::int64_t Shape::operator[](int axis) const {
  assert(axis >= 0 && axis < rank_);
  return extents_[static_cast<std::size_t>(axis)];
}

std::int64_t Shape::size() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents())
    if (__builtin_mul_overflow(product, extent, &product))
      throw Error(ExitCode::usage, "a tensor of " + text() + " elements is too large");
  return product;
}

Shape Shape::with_front(std::int64_t extent) const {
  std::array<std::int64_t, kMaxRank + 1> extents{extent};
  std::ranges::copy(this->extents(), extents.begin() + 1);
  return Shape(std::span(extents.data(), static_cast<std::size_t>(rank_) + 1));
}

Shape Shape::without_front() const {
  assert(rank_ > 0);
  return Shape(extents().subspan(1));
}

Shape Shape::with_last(std::int64_t extent) const {
  assert(rank_ > 0);
  Shape result = *this;
  result.extents_[static_cast<std::size_t>(rank_) - 1] = extent;
  return result;
}

std::string Shape::text() const {
  if (rank_ == 0) return "scalar";
  std::string text;
  for (const std::int64_t extent : extents()) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::string channels_first_text(const Shape& sample) {
  return sample.rank() == 3 ? Shape{sample[2], sample[0], sample[1]}.text() : sample.text();
}

}  // namespace trainer
