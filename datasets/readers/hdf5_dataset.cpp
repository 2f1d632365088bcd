#include "datasets/readers/hdf5_dataset.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/little_endian.h"

namespace trainer {
namespace {

enum FilterKind { deflate_filter = 1, shuffle_filter = 2, checksum_filter = 3 };

constexpr std::uint64_t kBestRatio = 1032;  // of deflate
constexpr std::uint64_t kChecksum = 4;
constexpr std::uint64_t kLeastEntry = 32;                 // bytes of the file for a chunk in its index
constexpr std::int64_t kLargest = std::int64_t{1} << 36;  // elements

std::string filter_name(int kind) {
  constexpr int kLzf = 32000;
  switch (kind) {
    case 4:
      return "szip";
    case 5:
      return "nbit";
    case 6:
      return "scaleoffset";
    case kLzf:
      return "lzf";
    default:
      return std::to_string(kind);
  }
}

std::string class_name(int kind) {
  constexpr std::array kNames = {"",         "",          "time", "string",          "bitfield", "opaque",
                                 "compound", "reference", "",     "variable length", "array"};
  return kind > 0 && kind < static_cast<int>(kNames.size()) ? kNames[static_cast<std::size_t>(kind)]
                                                            : std::to_string(kind);
}

/// The sum that HDF5 stores behind a chunk: two sums of its words of 16 bits (Fletcher 1982).
std::uint32_t fletcher32(std::span<const std::uint8_t> bytes) {
  // HDF5 carries around the end: a sum that is a multiple of 65535 stays 65535.
  const auto folded = [](std::uint64_t sum) { return sum == 0 ? 0 : (sum - 1) % 65535 + 1; };
  std::uint64_t low = 0, high = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    low = folded(low + (bytes[i] << 8) + (i + 1 < bytes.size() ? bytes[i + 1] : 0));
    high = folded(high + low);
  }
  return static_cast<std::uint32_t>(high << 16 | low);
}

/// Unpacks into `bytes`, which has room for `most`; false if `packed` is no whole zlib stream of so many
/// bytes.
bool inflate_chunk(std::span<const std::uint8_t> packed, std::uint64_t most,
                   std::vector<std::uint8_t>& bytes) {
  bytes.resize(most);
  uLongf size = most;
  if (uncompress(bytes.data(), &size, packed.data(), packed.size()) != Z_OK) return false;
  bytes.resize(size);
  return true;
}

/// Bytes of equal significance stand together; puts them back into elements of `width`.
void unshuffle(std::uint64_t width, std::vector<std::uint8_t>& bytes, std::vector<std::uint8_t>& scratch) {
  scratch = bytes;
  const std::size_t count = bytes.size() / width;
  for (std::size_t byte = 0; byte < width; ++byte)
    for (std::size_t i = 0; i < count; ++i) bytes[i * width + byte] = scratch[byte * count + i];
}

/// Copies of two arrays in C order the elements of a box. `from` has its corner at `origin` and extents
/// `extents`, `to` holds rows from `first` on of an array of extents `whole`.
struct BoxCopy {
  std::vector<std::int64_t> origin, extents, whole, begin, end;
  std::int64_t first = 0;
  std::uint64_t width = 1;

  void run(const std::uint8_t* from, std::uint8_t* to) const {
    const std::size_t last = begin.size() - 1;
    std::vector<std::int64_t> at = begin;
    const auto bytes = static_cast<std::size_t>(end[last] - begin[last]) * width;
    while (true) {
      std::int64_t source = 0, target = 0;
      for (std::size_t axis = 0; axis <= last; ++axis) {
        source = source * extents[axis] + (at[axis] - origin[axis]);
        target = target * whole[axis] + (at[axis] - (axis == 0 ? first : 0));
      }
      std::memcpy(to + static_cast<std::uint64_t>(target) * width,
                  from + static_cast<std::uint64_t>(source) * width, bytes);
      std::size_t axis = last;
      while (axis > 0 && ++at[axis - 1] == end[axis - 1]) {
        at[axis - 1] = begin[axis - 1];
        --axis;
      }
      if (axis == 0) return;
    }
  }
};

}  // namespace

Hdf5Dataset::Hdf5Dataset(const std::string& path, const std::string& name) : file_(path), name_(name) {
  std::vector<Hdf5Message> messages = file_.messages(file_.find(name));
  const auto message = [&](int type) {
    const auto found = std::ranges::find(messages, type, &Hdf5Message::type);
    if (found != messages.end() && found->is_shared)
      fail("an HDF5 dataset of a form that is not read", "it shares its shape, type or filters with others");
    return found;
  };
  if (message(Hdf5Message::layout) == messages.end())
    fail("an HDF5 group, not a dataset", "a dataset holds an array");
  if (message(Hdf5Message::external) != messages.end())
    fail("an HDF5 dataset in other files", "h5repack brings its elements into one file");
  for (const int type : {Hdf5Message::dataspace, Hdf5Message::datatype})
    if (message(type) == messages.end()) fail_damaged("the dataset has no shape or type");
  read_shape(message(Hdf5Message::dataspace)->block);
  read_type(message(Hdf5Message::datatype)->block);
  if (shape_.size() > kLargest) fail("HDF5 dataset is too large", fmt::format("it claims {}", shape_.text()));
  row_bytes_ = (shape_.rank() > 0 ? static_cast<std::uint64_t>(shape_.size() / shape_[0]) : 1) * width_;
  if (const auto filters = message(Hdf5Message::filters); filters != messages.end())
    read_filters(filters->block);
  read_layout(message(Hdf5Message::layout)->block);
}

void Hdf5Dataset::fail(const std::string& what, const std::string& note) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place(), .notes = {note}}});
}

void Hdf5Dataset::fail_damaged(const std::string& note) const { fail("HDF5 file is damaged", note); }

void Hdf5Dataset::read_shape(Hdf5Block block) {
  const int version = block.byte(), rank = block.byte();
  block.skip(1);
  const int kind = version == 2 ? block.byte() : 1;
  if (version == 1) block.skip(5);
  if (version != 1 && version != 2) fail_damaged("its shape is not valid");
  if (kind == 2) fail("HDF5 dataset holds nothing", "it has no elements");
  if (rank > Shape::kMaxRank)
    fail("HDF5 dataset has too many axes", fmt::format("{}; up to {} are read", rank, Shape::kMaxRank));
  std::vector<std::int64_t> extents;
  std::int64_t total = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const std::uint64_t extent = block.number(8);
    if (extent == 0) fail("HDF5 dataset holds nothing", "an extent is 0");
    if (extent > static_cast<std::uint64_t>(kLargest / total))
      fail("HDF5 dataset is too large", fmt::format("it claims more than {} elements", kLargest));
    total *= static_cast<std::int64_t>(extent);
    extents.push_back(static_cast<std::int64_t>(extent));
  }
  shape_ = Shape(extents);
}

void Hdf5Dataset::read_type(Hdf5Block block) {
  enum Class { integer = 0, real = 1, enumeration = 8 };
  int kind = block.byte() & 15;
  std::uint64_t flags = block.number(3);
  width_ = block.number(4);
  if (kind == enumeration) {  // of integers: NumPy's booleans
    kind = block.byte() & 15;
    flags = block.number(3);
    width_ = block.number(4);
    if (kind != integer) fail_damaged("its type is not valid");
  }
  if (kind != integer && kind != real)
    fail("HDF5 dataset of another type",
         fmt::format("type {}; integers and floats are read", class_name(kind)));
  const std::uint64_t offset = block.number(2), precision = block.number(2);
  bool is_read = offset == 0 && precision == 8 * width_;
  if (kind == real) {
    const std::uint64_t exponent_at = block.number(1), exponent = block.number(1),
                        fraction_at = block.number(1), fraction = block.number(1);
    is_read = is_read && fraction_at == 0 && exponent_at == fraction && (flags & 64) == 0 &&
              ((width_ == 2 && exponent == 5 && fraction == 10) ||
               (width_ == 4 && exponent == 8 && fraction == 23) ||
               (width_ == 8 && exponent == 11 && fraction == 52));
  } else {
    is_read = is_read && (width_ == 1 || width_ == 2 || width_ == 4 || width_ == 8);
  }
  if (!is_read)
    fail("HDF5 dataset of another type",
         fmt::format("{} of {} bits; integers of 8 to 64 bits and IEEE floats of 16 to 64 are read",
                     kind == real ? "float" : "integer", precision));
  const char order = width_ == 1 ? '|' : (flags & 1) != 0 ? '>' : '<';
  type_ = fmt::format("{}{}{}", order, kind == real ? 'f' : (flags & 8) != 0 ? 'i' : 'u', width_);
}

void Hdf5Dataset::read_filters(Hdf5Block block) {
  constexpr int kMost = 32;
  const int version = block.byte(), count = block.byte();
  if ((version != 1 && version != 2) || count > kMost) fail_damaged("its filters are not valid");
  if (version == 1) block.skip(6);
  for (int i = 0; i < count; ++i) {
    const int kind = static_cast<int>(block.number(2));
    std::uint64_t name = version == 1 || kind >= 256 ? block.number(2) : 0;
    block.skip(2);
    const std::uint64_t values = block.number(2);
    if (version == 1) name = (name + 7) / 8 * 8;
    block.skip(name + 4 * values + (version == 1 && values % 2 == 1 ? 4 : 0));
    if (kind < deflate_filter || kind > checksum_filter)
      fail("HDF5 dataset with a filter that is not read",
           fmt::format("filter {}; gzip, shuffle and fletcher32 are read; h5repack -f GZIP=4 packs it again",
                       filter_name(kind)));
    filters_.push_back(kind);
  }
}

void Hdf5Dataset::read_layout(Hdf5Block block) {
  enum Class { compact = 0, contiguous = 1, chunked = 2, elsewhere = 3 };
  const int version = block.byte(), kind = block.byte();
  const std::uint64_t bytes = row_bytes_ * static_cast<std::uint64_t>(shape_.rank() > 0 ? shape_[0] : 1);
  if (version == 4 && kind == elsewhere)
    fail("HDF5 dataset in other datasets", "a virtual dataset; h5repack writes it as one");
  if (version < 3 || version > 4 || (version == 4 && kind == chunked))
    fail("HDF5 dataset of a form that is not read",
         fmt::format("layout {}; h5repack --high=2 or libver='earliest' writes another one", version));
  if (kind == compact) {
    const std::uint64_t there = block.number(2);
    if (there != bytes) fail_damaged(fmt::format("it has {} bytes, its shape claims {}", there, bytes));
    const std::string text = block.text(bytes);
    compact_.assign(text.begin(), text.end());
    stored_bytes_ = bytes;
  } else if (kind == contiguous) {
    address_ = block.address();
    stored_bytes_ = block.number(8);
    if (address_ == Hdf5File::kNone) fail("HDF5 dataset was never written", "it has no elements");
    if (stored_bytes_ != bytes)
      fail_damaged(fmt::format("it has {} bytes, its shape claims {}", stored_bytes_, bytes));
    if (address_ > file_.size() || bytes > file_.size() - address_)
      fail("HDF5 file is truncated or damaged",
           fmt::format("{} bytes at {} lie outside of its {} bytes", bytes, address_, file_.size()));
  } else if (kind == chunked) {
    const int rank = block.byte() - 1;
    const std::uint64_t tree = block.address();
    if (rank != shape_.rank() || rank == 0) fail_damaged("its chunks have another rank");
    std::vector<std::int64_t> extents;
    chunk_bytes_ = width_;
    for (int axis = 0; axis < rank; ++axis) {
      const std::uint64_t extent = block.number(4);
      if (extent == 0 || extent > std::numeric_limits<std::uint32_t>::max() / chunk_bytes_)
        fail_damaged("its chunks are not valid");
      chunk_bytes_ *= extent;
      extents.push_back(static_cast<std::int64_t>(extent));
    }
    chunk_ = Shape(extents);
    if (block.number(4) != width_) fail_damaged("its chunks have other elements");
    if (tree == Hdf5File::kNone) fail("HDF5 dataset was never written", "it has no chunks");
    read_chunks(tree);
  } else {
    fail_damaged("its layout is not valid");
  }
}

std::vector<std::int64_t> Hdf5Dataset::chunks_along() const {
  std::vector<std::int64_t> counts;
  counts.reserve(static_cast<std::size_t>(shape_.rank()));
  for (int axis = 0; axis < shape_.rank(); ++axis)
    counts.push_back((shape_[axis] + chunk_[axis] - 1) / chunk_[axis]);
  return counts;
}

void Hdf5Dataset::read_chunks(std::uint64_t tree) {
  std::uint64_t count = 1;
  for (const std::int64_t along : chunks_along()) {
    count *= static_cast<std::uint64_t>(along);
    if (count > file_.size() / kLeastEntry)
      fail("HDF5 file is truncated or damaged",
           fmt::format("the dataset {} claims more chunks than the file can hold", shape_.text()));
  }
  chunks_.resize(count);
  add_chunks(tree, -1);
  for (const Chunk& chunk : chunks_) {
    if (chunk.address == Hdf5File::kNone)
      fail("HDF5 dataset was not written whole", "some of its chunks are missing");
    stored_bytes_ += chunk.bytes;
  }
  if (stored_bytes_ > file_.size()) fail_damaged("its chunks are larger than the file");
}

void Hdf5Dataset::add_chunks(std::uint64_t address, int expected_level) {
  Hdf5Block node = file_.block(address, 24);
  if (node.text(4) != "TREE" || node.byte() != 1)
    fail_damaged(fmt::format("no index of chunks at {}", address));
  const int level = node.byte();
  if (expected_level >= 0 && level != expected_level) fail_damaged("the index of its chunks is not valid");
  const std::uint64_t count = node.number(2), rank = static_cast<std::uint64_t>(shape_.rank());
  Hdf5Block children = file_.block(address + 24, (16 + 8 * rank + 8) * count);
  const std::vector<std::int64_t> along = chunks_along();
  for (std::uint64_t child = 0; child < count; ++child) {
    Chunk chunk{.bytes = children.number(4),
                .skipped_filters = static_cast<std::uint32_t>(children.number(4))};
    std::uint64_t place = 0;
    bool is_inside = true;
    for (int axis = 0; axis < shape_.rank(); ++axis) {
      const std::uint64_t at = children.number(8), step = static_cast<std::uint64_t>(chunk_[axis]);
      is_inside = is_inside && at % step == 0 &&
                  at / step < static_cast<std::uint64_t>(along[static_cast<std::size_t>(axis)]);
      place = place * static_cast<std::uint64_t>(along[static_cast<std::size_t>(axis)]) +
              (is_inside ? at / step : 0);
    }
    children.skip(8);
    chunk.address = children.address();
    if (++index_entries_ > file_.size() / kLeastEntry)
      fail_damaged("the index of its chunks contains itself");
    if (level > 0) {
      add_chunks(chunk.address, level - 1);
      continue;
    }
    // A dataset that was made smaller may have kept others.
    if (!is_inside) continue;
    const bool fits =
        filters_.empty() ? chunk.bytes == chunk_bytes_ : chunk_bytes_ / kBestRatio <= chunk.bytes;
    if (!fits || chunk.address > file_.size() || chunk.bytes > file_.size() - chunk.address)
      fail_damaged(
          fmt::format("a chunk of {} bytes in {} bytes at {}", chunk_bytes_, chunk.bytes, chunk.address));
    chunks_[place] = chunk;
  }
}

void Hdf5Dataset::read_chunk(const Chunk& chunk, std::vector<std::uint8_t>& scratch,
                             std::vector<std::uint8_t>& bytes) const {
  bytes.resize(chunk.bytes);
  file_.read(chunk.address, bytes);
  for (std::size_t i = filters_.size(); i-- > 0;) {
    if ((chunk.skipped_filters >> i & 1) != 0) continue;
    switch (filters_[i]) {
      case deflate_filter:
        std::swap(bytes, scratch);
        if (!inflate_chunk(scratch, chunk_bytes_ + kChecksum, bytes))
          fail_damaged(fmt::format("the chunk at {} cannot be unpacked", chunk.address));
        break;
      case shuffle_filter:
        unshuffle(width_, bytes, scratch);
        break;
      default: {
        const std::size_t size = bytes.size() - std::min<std::size_t>(kChecksum, bytes.size());
        std::uint32_t stored = 0;
        std::memcpy(&stored, bytes.data() + size, bytes.size() - size);
        swap_if_big_endian(std::span(&stored, 1));
        bytes.resize(size);
        if (stored != fletcher32(bytes))
          fail_damaged(fmt::format("the checksum of the chunk at {} is wrong", chunk.address));
      }
    }
  }
  if (bytes.size() != chunk_bytes_)
    fail_damaged(
        fmt::format("the chunk at {} has {} bytes, not {}", chunk.address, bytes.size(), chunk_bytes_));
}

void Hdf5Dataset::read_rows(std::int64_t first, std::int64_t count, std::span<std::uint8_t> bytes) const {
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * row_bytes_;
  if (!compact_.empty()) {
    std::copy_n(compact_.data() + begin, bytes.size(), bytes.data());
    return;
  }
  if (chunks_.empty()) return file_.read(address_ + begin, bytes);
  const std::vector<std::int64_t> along = chunks_along();
  const std::int64_t of_row = std::ssize(chunks_) / along[0];  // chunks beside each other
  thread_local std::vector<std::uint8_t> scratch, chunk;
  BoxCopy box{.first = first, .width = width_};
  for (const std::int64_t extent : shape_.extents()) box.whole.push_back(extent);
  for (const std::int64_t extent : chunk_.extents()) box.extents.push_back(extent);
  box.origin = box.begin = box.end = box.extents;
  for (std::int64_t row = first / chunk_[0]; row <= (first + count - 1) / chunk_[0]; ++row) {
    for (std::int64_t i = 0; i < of_row; ++i) {
      std::int64_t rest = i;
      for (std::size_t axis = box.origin.size(); axis-- > 0;) {
        const std::int64_t place = axis == 0 ? row : rest % along[axis];
        rest /= along[axis];
        box.origin[axis] = place * box.extents[axis];
        box.begin[axis] = box.origin[axis];
        box.end[axis] = std::min(box.whole[axis], box.origin[axis] + box.extents[axis]);
      }
      box.begin[0] = std::max(box.begin[0], first);
      box.end[0] = std::min(box.end[0], first + count);
      read_chunk(chunks_[static_cast<std::size_t>(row * of_row + i)], scratch, chunk);
      box.run(chunk.data(), bytes.data());
    }
  }
}

}  // namespace trainer
