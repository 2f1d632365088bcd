#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <type_traits>

#include "engine/core/shape.h"

namespace trainer {

/// A shaped view of contiguous elements that it does not own, like std::span. A default one is empty().
template <class T>
class BasicTensor {
 public:
  BasicTensor() = default;
  BasicTensor(T* data, const Shape& shape) : data_(data), shape_(shape), size_(shape.size()) {}
  template <class U>
  requires(std::is_same_v<const U, T>) BasicTensor(const BasicTensor<U>& other)
      : BasicTensor(other.data(), other.shape()) {}

  T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return data_ ? size_ : 0; }
  bool empty() const { return data_ == nullptr; }
  T& operator[](std::int64_t index) const {
    assert(index >= 0 && index < size_);
    return data_[index];
  }

  std::int64_t rows() const { return shape_[0]; }
  /// Elements of one row, i.e. of one sample.
  std::int64_t row_size() const { return shape_.without_front().size(); }
  /// Rows [first, first + count) as a tensor of the same rank.
  BasicTensor rows(std::int64_t first, std::int64_t count) const {
    assert(first >= 0 && count >= 0 && first + count <= rows());
    const Shape row = shape_.without_front();
    return empty() ? BasicTensor() : BasicTensor(data_ + first * row.size(), row.with_front(count));
  }
  /// The same elements under another shape of equal size.
  BasicTensor as(const Shape& shape) const {
    assert(shape.size() == size_);
    return BasicTensor(data_, shape);
  }
  std::span<T> span() const { return {data_, static_cast<std::size_t>(size())}; }

 private:
  T* data_ = nullptr;
  Shape shape_;
  std::int64_t size_ = 0;
};

using Tensor = BasicTensor<float>;
using ConstTensor = BasicTensor<const float>;

}  // namespace trainer
