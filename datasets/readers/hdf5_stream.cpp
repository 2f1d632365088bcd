#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "datasets/readers/hdf5_dataset.h"

namespace trainer {
namespace {

/// Reads whole rows, as many at once as are in a chunk or in kAhead bytes.
class Hdf5Stream final : public ByteStream {
 public:
  Hdf5Stream(const std::string& path, const std::string& name)
      : dataset_(path, name), path_(path), name_(name) {
    const Shape& shape = dataset_.shape();
    std::string extents;
    for (const std::int64_t extent : shape.extents()) extents += std::to_string(extent) + ", ";
    const std::string header =
        "{'descr': '" + dataset_.type() + "', 'fortran_order': False, 'shape': (" + extents + "), }\n";
    header_ = "\x93NUMPY\1";
    header_ += '\0';
    header_ += static_cast<char>(header.size() & 255);
    header_ += static_cast<char>(header.size() >> 8);
    header_ += header;
    rows_ = shape.rank() > 0 ? shape[0] : 1;
  }

  std::int64_t size() const override {
    return std::ssize(header_) + rows_ * static_cast<std::int64_t>(dataset_.row_bytes());
  }
  void read(std::span<std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      if (next_ == ahead_.size()) fill();
      const std::size_t count = std::min(bytes.size(), ahead_.size() - next_);
      std::memcpy(bytes.data(), ahead_.data() + next_, count);
      next_ += count;
      bytes = bytes.subspan(count);
    }
  }
  void finish() override {}
  std::string fingerprint() const override {
    return fmt::format("{}:{} {} bytes", std::filesystem::path(path_).filename().string(), name_,
                       dataset_.stored_bytes());
  }
  std::string place() const override { return dataset_.place(); }
  bool reads_anywhere() const override { return true; }
  void read_at(std::int64_t offset, std::span<std::uint8_t> bytes) const override {
    const std::int64_t row_bytes = static_cast<std::int64_t>(dataset_.row_bytes());
    dataset_.read_rows((offset - std::ssize(header_)) / row_bytes, std::ssize(bytes) / row_bytes, bytes);
  }

 private:
  void fill() {
    constexpr std::int64_t kAhead = 1 << 16;
    next_ = 0;
    if (!began_) {
      began_ = true;
      ahead_.assign(header_.begin(), header_.end());
      return;
    }
    if (row_ == rows_) fail("array is truncated", "it has no more rows");
    const std::int64_t row_bytes = static_cast<std::int64_t>(dataset_.row_bytes()),
                       together = dataset_.rows_together();
    const std::int64_t most = std::max<std::int64_t>(1, kAhead / row_bytes);
    // To the end of a chunk, so that none is unpacked twice.
    const std::int64_t end = std::min(rows_, (row_ + std::max(most, together)) / together * together);
    const std::int64_t count = std::max<std::int64_t>(1, end - row_);
    ahead_.resize(static_cast<std::size_t>(count * row_bytes));
    dataset_.read_rows(row_, count, ahead_);
    row_ += count;
  }

  Hdf5Dataset dataset_;
  std::string path_, name_, header_;
  std::vector<std::uint8_t> ahead_;
  std::size_t next_ = 0;
  std::int64_t rows_ = 0, row_ = 0;
  bool began_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> hdf5_stream(const std::string& path, const std::string& name) {
  return std::make_unique<Hdf5Stream>(path, name);
}

}  // namespace trainer
