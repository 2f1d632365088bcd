#pragma once

#include <memory>
#include <vector>

#include "datasets/readers/byte_stream.h"
#include "engine/core/shape.h"
#include "engine/system/files.h"

namespace trainer {

/// An array in numpy's format: its header read and held against the size, its numbers not yet read. Booleans,
/// integers and floats of up to 8 bytes, little or big endian, in C order; everything else is refused.
class NpyArray {
 public:
  explicit NpyArray(std::unique_ptr<ByteStream> bytes);

  const Shape& shape() const { return shape_; }
  bool is_integer() const { return kind_ != 'f'; }
  /// Unsigned bytes, which are what pixels are.
  bool is_bytes() const { return kind_ == 'u' && width_ == 1; }
  std::string fingerprint() const { return bytes_->fingerprint(); }
  std::string place() const { return bytes_->place(); }
  /// True when the file holds the array as it is, not packed.
  bool lies_in(const InputFile& file) const;
  /// Reads all numbers, once, each divided by `divisor`. A number that is not finite is an error.
  void read(std::span<float> numbers, float divisor = 1);
  /// The same for one row of its first axis, out of a file in which it lies. Any number of threads may do so,
  /// as often as they like.
  void read_row(const InputFile& file, std::int64_t row, std::span<float> numbers, float divisor = 1) const;
  /// The same as classes: integers from 0 to at most `most`.
  void read_labels(std::span<std::int32_t> labels, std::int32_t most);
  /// The same as lengths: integers from 1 to at most `most`.
  void read_lengths(std::span<std::int32_t> lengths, std::int64_t most);
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    bytes_->fail(what, expected);
  }

 private:
  void parse(std::string_view header);
  /// Calls take(index, number) for all of them, from `first` on.
  template <class Take>
  void convert(std::size_t first, std::span<std::uint8_t> bytes, const Take& take) const;
  template <class Take>
  void each(std::size_t count, const Take& take);
  float checked(std::size_t index, double number) const;

  std::unique_ptr<ByteStream> bytes_;
  Shape shape_;
  char kind_ = 'f';  ///< f, i, u or b, as numpy calls them
  std::size_t width_ = 4;
  bool big_endian_ = false;
  std::int64_t begin_ = 0;  ///< of the numbers, behind the header
};

}  // namespace trainer
