#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trainer {

// Values of files have the least significant byte first, whatever processor writes or reads them.

/// Between memory and files, in either direction: reverses the bytes of each value on a big-endian processor.
template <class T>
void swap_if_big_endian(std::span<T> values) {
  if constexpr (std::endian::native == std::endian::big)
    for (std::span<std::byte> bytes = std::as_writable_bytes(values); !bytes.empty();
         bytes = bytes.subspan(sizeof(T)))
      std::ranges::reverse(bytes.first(sizeof(T)));
}

/// Values as the bytes of a file: those of memory, which the caller owns, or a copy on a big-endian
/// processor.
template <class T>
class LittleEndian {
 public:
  explicit LittleEndian(std::span<const T> values) : values_(values) {
    if constexpr (std::endian::native == std::endian::big) {
      copy_.assign(values.begin(), values.end());
      swap_if_big_endian(std::span(copy_));
      values_ = copy_;
    }
  }
  LittleEndian(const LittleEndian&) = delete;
  LittleEndian& operator=(const LittleEndian&) = delete;

  std::span<const std::byte> bytes() const { return std::as_bytes(values_); }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(values_.data()), values_.size_bytes()};
  }

 private:
  std::vector<T> copy_;
  std::span<const T> values_;
};

template <class T>
LittleEndian(const std::vector<T>&) -> LittleEndian<T>;
template <class T>
LittleEndian(std::span<T>) -> LittleEndian<std::remove_const_t<T>>;

}  // namespace trainer
