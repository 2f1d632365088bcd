#pragma once

#include <memory>

#include "datasets/readers/byte_stream.h"
#include "engine/core/shape.h"

namespace trainer {

/// An array in NumPy's .npy format. The constructor reads the header and checks the size against it; elements
/// are read later. Reads booleans, integers of 1 to 8 bytes and floats of 2 to 8, little or big endian, in C
/// order; Error(data) for others.
class NpyArray {
 public:
  explicit NpyArray(std::unique_ptr<ByteStream> bytes);

  const Shape& shape() const { return shape_; }
  bool is_integer() const { return kind_ != 'f'; }
  /// Of inputs: 255 for unsigned bytes, which are pixels, else 1.
  float input_divisor() const { return kind_ == 'u' && width_ == 1 ? 255 : 1; }
  std::string fingerprint() const { return bytes_->fingerprint(); }
  std::string place() const { return bytes_->place(); }
  /// True if read_row() may be called: the array is not packed.
  bool reads_rows() const { return bytes_->reads_anywhere(); }
  /// Reads all elements divided by `divisor`; call once. Error(data) if an element is not finite.
  void read(std::span<float> elements, float divisor = 1);
  /// Reads the elements of one row (first axis). Several threads may call it at the same time.
  void read_row(std::int64_t row, std::span<float> elements, float divisor = 1) const;
  /// Reads the next elements. Returns what is wrong if one is not finite, else an empty text; more can be
  /// read then. Call finish() after the last ones.
  std::string read_next(std::span<float> elements, float divisor = 1);
  /// Error(data) if the stream does not end here or its checksum is wrong.
  void finish() { bytes_->finish(); }
  /// Reads all elements as labels; call once. Error(data) if one is outside [0, most].
  void read_labels(std::span<std::int32_t> labels, std::int32_t most);
  /// Reads all elements as lengths; call once. Error(data) if one is outside [1, most].
  void read_lengths(std::span<std::int32_t> lengths, std::int64_t most);
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    bytes_->fail(what, expected);
  }

 private:
  void parse(std::string_view header);
  /// Calls take(index, value) for the elements in `bytes`, of which the first has index `first`.
  template <class Take>
  void convert(std::size_t first, std::span<std::uint8_t> bytes, const Take& take) const;
  template <class Take>
  void for_each(std::size_t count, const Take& take);
  /// Error(data) if `value` is not finite or beyond float.
  float checked(std::size_t index, double value) const;

  std::unique_ptr<ByteStream> bytes_;
  Shape shape_;
  char kind_ = 'f';        ///< f, i, u or b, as in a NumPy dtype
  std::size_t width_ = 4;  ///< bytes of an element
  bool big_endian_ = false;
  std::int64_t begin_ = 0;  ///< offset of the elements, behind the header
  std::size_t next_ = 0;    ///< index of the next element
};

}  // namespace trainer
