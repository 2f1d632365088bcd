#include "datasets/tar/tar_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

namespace trainer {
namespace {

constexpr std::uint64_t kLongestDescription = 1 << 16;
constexpr std::size_t kLongestName = 4096;
constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// The text of a field, which ends at a zero byte or with the field.
std::string_view text_of(std::string_view field) { return field.substr(0, field.find('\0')); }

/// A number in octal digits, or with the first bit set in base 256; nothing if it is neither.
std::optional<std::uint64_t> number_of(std::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (value > kLargest >> 8) return std::nullopt;
      value = value << 8 | (static_cast<unsigned char>(field[i]) & (i == 0 ? 0x7f : 0xff));
    }
    return value;
  }
  field = text_of(field);
  const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
  field = field.substr(begin, field.find_last_not_of(' ') + 1 - begin);
  if (field.empty()) return 0;
  const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (problem != std::errc{} || end != field.data() + field.size() || value > kLargest) return std::nullopt;
  return value;
}

}  // namespace

/// A block of 512 bytes before each member.
struct TarMembers::Header {
  std::array<char, kTarBlock> bytes;

  std::string_view field(std::size_t at, std::size_t size) const { return {bytes.data() + at, size}; }
  char type() const { return bytes[156]; }
  bool is_end() const {
    return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
  }
  /// The sum of all bytes, with blanks in the place of the sum. Old programs add signed bytes.
  bool has_right_sum() const {
    constexpr std::size_t kSum = 148, kSumBytes = 8;
    std::int64_t plain = 0, with_sign = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char byte = i >= kSum && i < kSum + kSumBytes ? ' ' : bytes[i];
      plain += static_cast<unsigned char>(byte);
      with_sign += static_cast<signed char>(byte);
    }
    const auto claimed = number_of(field(kSum, kSumBytes));
    return claimed &&
           (static_cast<std::int64_t>(*claimed) == plain || static_cast<std::int64_t>(*claimed) == with_sign);
  }
  /// Only POSIX has a prefix there; GNU keeps times.
  std::string name() const {
    const std::string_view prefix =
        field(257, 8) == std::string_view("ustar\00000", 8) ? text_of(field(345, 155)) : "";
    return (prefix.empty() ? "" : std::string(prefix) + '/') + std::string(text_of(field(0, 100)));
  }
};

TarMembers::TarMembers(const InputFile& file) : file_(file) {
  if (file.size() == 0) fail("tar file is empty", "0 bytes");
  std::array<std::byte, 2> start{};
  if (file.size() >= start.size()) file.read(0, start);
  if (start == std::array{std::byte{0x1f}, std::byte{0x8b}})
    throw Error(ExitCode::data, {Diagnostic{.what = "tar file is compressed",
                                            .place = file.path().string(),
                                            .notes = {"single samples are read from plain tar files only"},
                                            .help = "unpack it with gunzip"}});
}

bool TarMembers::next(TarMember& member) {
  while (true) {
    const Header header = read_header();
    if (header.is_end()) return false;
    if (!header.has_right_sum())
      fail(header_ == 0 ? "not a tar file" : "tar file is damaged",
           fmt::format("the header at byte {} has a wrong checksum", header_));
    const char type = header.type();
    const bool has_content = type < '1' || type > '6';  // links, devices and folders have none
    const std::optional<std::uint64_t> claimed =
        long_size_ >= 0 ? static_cast<std::uint64_t>(long_size_) : number_of(header.field(124, 12));
    if (long_name_.size() > kLongestName)
      fail("tar file is damaged",
           fmt::format("a name of {} bytes; at most {} are read", long_name_.size(), kLongestName));
    const std::string name = long_name_.empty() ? header.name() : long_name_;
    if (!claimed) fail("tar file is damaged", fmt::format("the size of member `{}` is no number", name));
    const std::uint64_t begin = header_ + kTarBlock, bytes = has_content ? *claimed : 0;
    if (bytes > file_.size() - begin)
      fail("tar file is truncated or damaged",
           fmt::format("member `{}` claims {} bytes at byte {}; the file has {}", name, bytes, begin,
                       file_.size()));
    next_ = begin + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
    if (type == 'L') {
      long_name_ = text_of(description(bytes));
    } else if (type == 'x') {
      take_pax(description(bytes));
    } else if (type == 'S') {
      fail("tar file has a sparse member", fmt::format("member `{}`; tar without --sparse is read", name));
    } else if (type == '0' || type == '\0' || type == '7') {
      long_name_.clear();
      long_size_ = -1;
      if (name.ends_with('/')) continue;  // a folder of the oldest form
      member = {.name = name, .offset = begin, .bytes = bytes};
      return true;
    } else if (type != 'g' && type != 'K') {
      long_name_.clear();
      long_size_ = -1;
    }
  }
}

TarMembers::Header TarMembers::read_header() {
  header_ = next_;
  if (header_ > file_.size() || file_.size() - header_ < kTarBlock)
    fail(header_ == 0 ? "not a tar file" : "tar file is truncated",
         fmt::format("{} bytes, without the block of zeros that ends a tar file", file_.size()));
  Header header;
  file_.read(header_, std::as_writable_bytes(std::span(header.bytes)));
  return header;
}

std::string TarMembers::description(std::uint64_t bytes) {
  if (bytes > kLongestDescription)
    fail("tar file is damaged", fmt::format("the description at byte {} has {} bytes; at most {} are read",
                                            header_, bytes, kLongestDescription));
  std::string text(bytes, '\0');
  file_.read(header_ + kTarBlock, std::as_writable_bytes(std::span(text)));
  return text;
}

void TarMembers::take_pax(std::string_view records) {
  const auto damaged = [&] {
    fail("tar file is damaged", fmt::format("the pax records at byte {} are not valid", header_));
  };
  // A record is "LENGTH KEY=VALUE\n"; the length counts all of it.
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, problem] = std::from_chars(records.data(), records.data() + records.size(), length);
    const std::size_t digits = end - records.data();
    if (problem != std::errc{} || length > records.size() || length < digits + 3 || records[digits] != ' ' ||
        records[length - 1] != '\n')
      damaged();
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) damaged();
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") {
      long_name_ = value;
    } else if (key == "size") {
      const auto [last, wrong] = std::from_chars(value.data(), value.data() + value.size(), long_size_);
      if (wrong != std::errc{} || last != value.data() + value.size() || long_size_ < 0) damaged();
    } else if (key.starts_with("GNU.sparse.")) {
      fail("tar file has a sparse member",
           fmt::format("the pax records at byte {}; tar without --sparse is read", header_));
    }
    records.remove_prefix(length);
  }
}

void TarMembers::fail(const std::string& what, const std::string& note) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = file_.path().string(), .notes = {note}}});
}

}  // namespace trainer
