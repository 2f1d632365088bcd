#include "datasets/readers/byte_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <vector>

namespace trainer {
namespace {

constexpr std::int64_t kGzipHeader = 10, kGzipTrailer = 8;
constexpr std::int64_t kBestRatio = 1032;  // of deflate

std::uint32_t little_endian(const std::uint8_t* bytes) {
  return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

}  // namespace

ByteReader::ByteReader(const std::string& path) : path_(path) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (problem) fail("data file cannot be read", problem.message());
  if (!std::filesystem::is_regular_file(status))
    fail("data file cannot be read",
         std::filesystem::is_directory(status) ? "a directory, not a file" : "not a regular file");
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (!file_) fail("data file cannot be read", std::strerror(errno));
  size_ = stored_size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, problem));
  if (problem) fail("data file cannot be read", problem.message());
  if (size_ == 0) fail("data file is empty", "0 bytes");

  std::array<std::uint8_t, 2> start{};
  const bool gzip = is_gzip(std::span(start).first(std::fread(start.data(), 1, 2, file_.get())));
  if (!gzip && path.ends_with(".gz"))
    fail("data file is no gzip file", "its name ends in .gz, but it does not begin with the bytes 1f 8b");
  if (gzip) read_trailer();
  rewind();
  if (!gzip) return;

  auto inflater = std::make_unique<z_stream>();
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(inflater.get(), kGzipOnly) != Z_OK) throw std::bad_alloc();
  inflater_ = std::move(inflater);
  const bool counts = may_have_members();
  rewind();
  if (counts) count_members();
}

ByteReader::~ByteReader() {
  if (inflater_) inflateEnd(inflater_.get());
}

void ByteReader::rewind() {
  if (std::fseek(file_.get(), 0, SEEK_SET) != 0) fail("data file cannot be read", std::strerror(errno));
}

void ByteReader::read_trailer() {
  std::array<std::uint8_t, kGzipTrailer> trailer;
  if (stored_size_ < kGzipHeader + kGzipTrailer ||
      std::fseek(file_.get(), -long{kGzipTrailer}, SEEK_END) != 0 ||
      std::fread(trailer.data(), 1, trailer.size(), file_.get()) != trailer.size())
    fail("gzip file is truncated", fmt::format("only {} bytes", stored_size_));
  checksum_ = little_endian(trailer.data());
  size_ = little_endian(trailer.data() + 4);
  if (size_ / kBestRatio > stored_size_)
    fail("gzip file is damaged or truncated",
         fmt::format("its last bytes claim {} bytes of data, more than {} packed bytes can hold", size_,
                     stored_size_));
}

std::int64_t ByteReader::unpacked_limit() const {
  constexpr std::int64_t kAlways = std::int64_t{1} << 26;
  return std::max(kAlways, kUnpackedPerByte * stored_size_);
}

bool ByteReader::may_have_members() {
  // Identification, method and flags, of which the upper three bits are 0.
  constexpr std::array<std::uint8_t, 3> kStart{0x1f, 0x8b, 8};
  constexpr std::uint8_t kNoFlags = 0xe0;
  std::ptrdiff_t kept = 0, at = 1;  // not the first member
  while (true) {
    const std::size_t more =
        std::fread(packed_.data() + kept, 1, packed_.size() - static_cast<std::size_t>(kept), file_.get());
    const auto end = packed_.begin() + kept + static_cast<std::ptrdiff_t>(more);
    for (auto found = packed_.begin() + std::min(at, end - packed_.begin());; ++found) {
      found = std::search(found, end, kStart.begin(), kStart.end());
      if (end - found <= std::ssize(kStart)) break;
      if ((found[kStart.size()] & kNoFlags) == 0) return true;
    }
    if (more == 0) return false;
    kept = std::min<std::ptrdiff_t>(kStart.size(), end - packed_.begin());
    std::copy(end - kept, end, packed_.begin());
    at = 0;
  }
}

void ByteReader::count_members() {
  size_ = 0;
  uLong sum = crc32(0, nullptr, 0);
  std::vector<std::uint8_t> part(packed_.size());
  while (const std::size_t got = inflate_into(part)) {
    sum = crc32(sum, part.data(), static_cast<uInt>(got));
    size_ += static_cast<std::int64_t>(got);
    if (size_ > unpacked_limit())
      fail("gzip file of several members unpacks to more than the limit",
           fmt::format("the limit is {} bytes; `zcat FILE | gzip` makes one member of them",
                       unpacked_limit()));
  }
  checksum_ = static_cast<std::uint32_t>(sum);
  rewind();
  inflateReset(inflater_.get());
  inflater_->avail_in = 0;
  ended_ = false;
}

void ByteReader::read(std::span<std::uint8_t> bytes) {
  const std::size_t got =
      is_packed() ? inflate_into(bytes) : std::fread(bytes.data(), 1, bytes.size(), file_.get());
  if (std::ferror(file_.get())) fail("data file cannot be read", std::strerror(errno));
  if (got < bytes.size())
    fail("data file is truncated", fmt::format("it ends {} bytes too early", bytes.size() - got));
}

void ByteReader::finish() {
  std::uint8_t extra;
  const bool more = is_packed() ? inflate_into({&extra, 1}) > 0 : std::fread(&extra, 1, 1, file_.get()) > 0;
  if (std::ferror(file_.get())) fail("data file cannot be read", std::strerror(errno));
  if (more) fail("data file is too long", "more bytes follow its expected end");
  if (is_packed() && (inflater_->avail_in > 0 || std::fgetc(file_.get()) != EOF))
    fail("gzip file is too long", "more bytes follow the packed data");
}

void ByteReader::read_at(std::int64_t offset, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(::fileno(file_.get()), bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("data file cannot be read", std::strerror(errno));
    if (got == 0) fail("data file is truncated", fmt::format("it ends {} bytes too early", bytes.size()));
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

void ByteReader::read_packed() {
  const std::size_t kept = inflater_->avail_in;
  std::copy_n(inflater_->next_in, kept, packed_.data());
  const std::size_t more = std::fread(packed_.data() + kept, 1, packed_.size() - kept, file_.get());
  inflater_->next_in = packed_.data();
  inflater_->avail_in = static_cast<uInt>(kept + more);
}

std::size_t ByteReader::inflate_into(std::span<std::uint8_t> bytes) {
  constexpr std::size_t kMax = std::numeric_limits<uInt>::max();
  std::size_t got = 0;
  while (got < bytes.size() && !ended_) {
    if (inflater_->avail_in == 0) {
      read_packed();
      if (inflater_->avail_in == 0) fail("gzip file is truncated", "the packed data ends too early");
    }
    inflater_->next_out = bytes.data() + got;
    inflater_->avail_out = static_cast<uInt>(std::min(bytes.size() - got, kMax));
    const uInt room = inflater_->avail_out;
    const int result = inflate(inflater_.get(), Z_NO_FLUSH);
    got += room - inflater_->avail_out;
    ended_ = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    // Z_BUF_ERROR requests more input: the loop reads it.
    if (result != Z_OK && !ended_ && result != Z_BUF_ERROR)
      fail("gzip file is corrupt", inflater_->msg ? inflater_->msg : "the packed data is not valid");
    if (!ended_) continue;
    if (inflater_->avail_in < 2) read_packed();
    if (!is_gzip(std::span(inflater_->next_in, inflater_->avail_in))) continue;
    inflateReset(inflater_.get());  // the next member
    ended_ = false;
  }
  return got;
}

std::string ByteReader::fingerprint() const {
  std::string text =
      fmt::format("{} {} bytes", std::filesystem::path(path_).filename().string(), stored_size_);
  if (is_packed()) text += fmt::format(", crc32 {:08x}", checksum_);
  return text;
}

}  // namespace trainer
