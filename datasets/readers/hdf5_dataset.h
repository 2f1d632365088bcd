#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/readers/byte_stream.h"
#include "datasets/readers/hdf5_file.h"
#include "engine/core/shape.h"

namespace trainer {

/// A dataset of an HDF5 file: an array of integers or floats, contiguous or in chunks, plain, shuffled,
/// packed with gzip or with checksums. The constructor reads and checks the headers; Error(data) for other
/// forms.
class Hdf5Dataset {
 public:
  Hdf5Dataset(const std::string& path, const std::string& name);

  std::string place() const { return file_.path() + ':' + name_; }
  /// As NumPy writes it: "<f4".
  const std::string& type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t row_bytes() const { return row_bytes_; }
  /// Rows that are read at the price of one: those of a chunk.
  std::int64_t rows_together() const { return chunk_.rank() > 0 ? chunk_[0] : 1; }
  /// Bytes that its elements take in the file.
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  /// Fills `bytes` with `count` rows (first axis) from `first`. Several threads may call it at the same time.
  void read_rows(std::int64_t first, std::int64_t count, std::span<std::uint8_t> bytes) const;
  [[noreturn]] void fail(const std::string& what, const std::string& note) const;

 private:
  struct Chunk {
    std::uint64_t address = Hdf5File::kNone, bytes = 0;
    std::uint32_t skipped_filters = 0;  ///< a bit for each
  };

  void read_shape(Hdf5Block block);
  void read_type(Hdf5Block block);
  void read_filters(Hdf5Block block);
  void read_layout(Hdf5Block block);
  void read_chunks(std::uint64_t tree);
  /// Of a node of the index, whose level is this; -1: any.
  void add_chunks(std::uint64_t address, int expected_level);
  std::vector<std::int64_t> chunks_along() const;
  void read_chunk(const Chunk& chunk, std::vector<std::uint8_t>& scratch,
                  std::vector<std::uint8_t>& bytes) const;
  [[noreturn]] void fail_damaged(const std::string& note) const;

  Hdf5File file_;
  std::string name_, type_;
  Shape shape_, chunk_;  ///< chunk_: empty if the dataset is not in chunks
  std::uint64_t width_ = 0, row_bytes_ = 0, stored_bytes_ = 0, chunk_bytes_ = 0;
  std::uint64_t address_ = Hdf5File::kNone;  ///< of the elements, if they are contiguous
  std::vector<std::uint8_t> compact_;        ///< the elements, if the header has them
  std::vector<Chunk> chunks_;                ///< in C order of their places
  std::vector<int> filters_;                 ///< in the order of writing
  std::uint64_t index_entries_ = 0;          ///< of chunks that were read
};

/// A dataset as the bytes of an .npy file.
std::unique_ptr<ByteStream> hdf5_stream(const std::string& path, const std::string& name);

}  // namespace trainer
