#include "datasets/readers/zip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "engine/config/source.h"

namespace trainer {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50,
                        kLocator64Signature = 0x07064b50, kCentralSignature = 0x02014b50,
                        kLocalSignature = 0x04034b50;
constexpr std::size_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint64_t kLongestComment = 0xffff, kMaxDirectory = 1 << 24, kBestRatio = 1032;
constexpr std::uint32_t kStored = 0, kDeflated = 8, kEncrypted = 1, kElsewhere = 0xffffffff;

/// A little-endian integer of `count` bytes.
std::uint64_t number(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}
std::uint32_t number32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(number(bytes, at, 4));
}

/// Place of the list of entries.
struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

Directory find_directory(const InputFile& file, const ZipFile& zip) {
  const std::uint64_t tail = std::min(file.size(), kEndSize + kLongestComment);
  std::vector<std::byte> bytes(tail);
  file.read(file.size() - tail, bytes);
  for (std::size_t at = tail < kEndSize ? 0 : tail - kEndSize + 1; at-- > 0;) {
    if (number32(bytes, at) != kEndSignature || at + kEndSize + number(bytes, at + 20, 2) != tail) continue;
    const std::span<const std::byte> end = std::span(bytes).subspan(at, kEndSize);
    Directory directory{number32(end, 16), number32(end, 12), number(end, 10, 2)};
    const std::uint64_t end_offset = file.size() - tail + at;
    if (directory.offset != kElsewhere && directory.size != kElsewhere && directory.entries != 0xffff)
      return directory;
    if (end_offset < kLocator64Size + kEnd64Size) break;
    std::array<std::byte, kLocator64Size> locator;
    file.read(end_offset - kLocator64Size, locator);
    std::array<std::byte, kEnd64Size> end64;
    const std::uint64_t end64_offset = number(locator, 8, 8);
    if (number32(locator, 0) != kLocator64Signature ||
        end64_offset > end_offset - kLocator64Size - kEnd64Size)
      break;
    file.read(end64_offset, end64);
    if (number32(end64, 0) != kEnd64Signature) break;
    return {number(end64, 48, 8), number(end64, 40, 8), number(end64, 32, 8)};
  }
  zip.fail("not a zip archive", "the list of entries is missing");
}

/// Replaces sizes that 32 bits cannot hold by those of the zip64 extra field.
void read_extra64(std::span<const std::byte> extra, ZipFile::Entry& entry) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, at, 2), size = number(extra, at + 2, 2);
    at += 4;
    if (size > extra.size() - at) return;
    std::size_t next = at;
    if (id == 1)
      for (std::uint64_t* value : {&entry.size, &entry.packed, &entry.offset})
        if (*value == kElsewhere && next + 8 <= at + size) {
          *value = number(extra, next, 8);
          next += 8;
        }
    at += size;
  }
}

/// The bytes of one entry, unpacked as they are read.
class ZipEntry final : public ByteStream {
 public:
  ZipEntry(const InputFile& file, const ZipFile& zip, const ZipFile::Entry& entry, std::uint64_t offset)
      : file_(file), zip_(zip), entry_(entry), offset_(offset), left_(entry.packed) {
    if (entry.method == kStored) return;
    auto inflater = std::make_unique<z_stream>();
    if (inflateInit2(inflater.get(), -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    inflater_ = std::move(inflater);
  }
  ~ZipEntry() override {
    if (inflater_) inflateEnd(inflater_.get());
  }
  ZipEntry(const ZipEntry&) = delete;
  ZipEntry& operator=(const ZipEntry&) = delete;

  std::int64_t size() const override { return static_cast<std::int64_t>(entry_.size); }
  void read(std::span<std::uint8_t> bytes) override {
    if (unpack(bytes) < bytes.size()) fail("zip entry is truncated", "its data ends too early");
    for (std::size_t first = 0; first < bytes.size(); first += kMax)
      checksum_ = static_cast<std::uint32_t>(
          crc32(checksum_, bytes.data() + first, static_cast<uInt>(std::min(kMax, bytes.size() - first))));
  }
  void finish() override {
    std::uint8_t extra;
    if (unpack({&extra, 1}) > 0 || left_ > 0 || (inflater_ && inflater_->avail_in > 0))
      fail("zip entry is too long", "more bytes follow its expected end");
    if (checksum_ != entry_.checksum) fail("zip entry is corrupt", "its checksum is wrong");
  }
  std::string fingerprint() const override {
    return fmt::format("{} {} bytes, crc32 {:08x}", entry_.name, entry_.size, entry_.checksum);
  }
  std::string place() const override { return zip_.path() + ":" + entry_.name; }

 private:
  static constexpr std::size_t kMax = std::numeric_limits<uInt>::max();

  std::size_t take(std::span<std::uint8_t> bytes) {
    const std::size_t count = std::min<std::uint64_t>(left_, bytes.size());
    file_.read(offset_, std::as_writable_bytes(bytes.first(count)));
    offset_ += count;
    left_ -= count;
    return count;
  }
  std::size_t unpack(std::span<std::uint8_t> bytes) {
    if (!inflater_) return take(bytes);
    std::size_t got = 0;
    while (got < bytes.size() && !ended_) {
      if (inflater_->avail_in == 0) {
        inflater_->next_in = packed_.data();
        inflater_->avail_in = static_cast<uInt>(take(packed_));
        if (inflater_->avail_in == 0) fail("zip entry is truncated", "the packed data ends too early");
      }
      inflater_->next_out = bytes.data() + got;
      const auto room = static_cast<uInt>(std::min(bytes.size() - got, kMax));
      inflater_->avail_out = room;
      const int result = inflate(inflater_.get(), Z_NO_FLUSH);
      got += room - inflater_->avail_out;
      ended_ = result == Z_STREAM_END;
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result != Z_OK && !ended_ && result != Z_BUF_ERROR)
        fail("zip entry is corrupt", inflater_->msg ? inflater_->msg : "the packed data is not valid");
    }
    return got;
  }

  const InputFile& file_;
  const ZipFile& zip_;
  const ZipFile::Entry& entry_;
  std::uint64_t offset_, left_;
  std::uint32_t checksum_ = 0;
  bool ended_ = false;
  std::unique_ptr<z_stream> inflater_;
  std::array<std::uint8_t, 1 << 15> packed_;
};

}  // namespace

ZipFile::ZipFile(const std::string& path) : path_(path), file_(path, ExitCode::data) {
  const Directory directory = find_directory(file_, *this);
  if (directory.size > std::min(file_.size(), kMaxDirectory) ||
      directory.offset > file_.size() - directory.size)
    fail("zip archive is damaged", "its list of entries lies outside the file");
  std::vector<std::byte> bytes(directory.size);
  file_.read(directory.offset, bytes);
  const std::span<const std::byte> all = bytes;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (all.size() - at < kCentralSize || number32(all, at) != kCentralSignature)
      fail("zip archive is damaged", fmt::format("entry {} of its list is not valid", i + 1));
    const std::uint64_t name = number(all, at + 28, 2), extra = number(all, at + 30, 2),
                        comment = number(all, at + 32, 2);
    if (all.size() - at - kCentralSize < name + extra + comment)
      fail("zip archive is damaged", fmt::format("entry {} of its list is cut off", i + 1));
    Entry entry{.name = {reinterpret_cast<const char*>(all.data()) + at + kCentralSize, name},
                .method = static_cast<std::uint32_t>(number(all, at + 10, 2)),
                .checksum = number32(all, at + 16),
                .packed = number32(all, at + 20),
                .size = number32(all, at + 24),
                .offset = number32(all, at + 42)};
    read_extra64(all.subspan(at + kCentralSize + name, extra), entry);
    const std::uint64_t flags = number(all, at + 8, 2);
    if ((flags & kEncrypted) != 0) fail("zip archive is encrypted", entry.name);
    if (entry.method != kStored && entry.method != kDeflated)
      fail("zip archive is packed in another way",
           fmt::format("method {}; stored and deflate are read", entry.method));
    // So size fits in 63 bits, and no claim exceeds what the file can hold.
    if (entry.packed > file_.size() || entry.size > (entry.packed + 1) * kBestRatio ||
        (entry.method == kStored && entry.size != entry.packed))
      fail("zip archive is damaged", fmt::format("{} claims more bytes than the file can hold", entry.name));
    entries_.push_back(std::move(entry));
    at += kCentralSize + name + extra + comment;
  }
}

std::unique_ptr<ByteStream> ZipFile::open(const std::string& name) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  if (entry == entries_.end()) {
    std::vector<std::string> names;
    for (const Entry& one : entries_) names.push_back(one.name);
    fail("zip archive has no such entry", name + "; it has " + listed(names));
  }
  std::array<std::byte, kLocalSize> local;
  if (entry->offset > file_.size() || file_.size() - entry->offset < kLocalSize)
    fail("zip archive is damaged", fmt::format("{} lies outside the file", name));
  file_.read(entry->offset, local);
  const std::uint64_t offset = entry->offset + kLocalSize + number(local, 26, 2) + number(local, 28, 2);
  if (number32(local, 0) != kLocalSignature || offset > file_.size() || entry->packed > file_.size() - offset)
    fail("zip archive is damaged", fmt::format("{} is not at the offset that the list gives", name));
  return std::make_unique<ZipEntry>(file_, *this, *entry, offset);
}

std::vector<std::string> ZipFile::arrays() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.name.substr(0, entry.name.rfind(".npy")));
  return names;
}

void ZipFile::fail(const std::string& what, const std::string& expected) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = path_, .notes = {expected}}});
}

}  // namespace trainer
