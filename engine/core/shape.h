#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace trainer {

/// The extents of a tensor, outermost first; no heap. Rank 0 is a single number.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const;

  /// Product of the extents; throws Error when it overflows 63 bits. The only place extents are multiplied.
  std::int64_t size() const;

  /// This shape with `extent` in front, e.g. a sample's shape made into a batch's.
  Shape with_front(std::int64_t extent) const;
  /// This shape without its first extent, e.g. a batch's shape made into a sample's.
  Shape without_front() const;
  /// This shape with its last extent replaced, e.g. by the units of a shard.
  Shape with_last(std::int64_t extent) const;

  std::span<const std::int64_t> extents() const { return {extents_.data(), static_cast<std::size_t>(rank_)}; }
  /// "24x24x16"; "scalar" for rank 0.
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// A sample's shape as people write it: maps, which lie in memory as (H, W, C), read "CxHxW".
std::string channels_first_text(const Shape& sample);

}  // namespace trainer
