#include "datasets/tar/tar_writer.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <numeric>
#include <utility>

#include "datasets/tar/tar_members.h"
#include "engine/system/crc32.h"

namespace trainer {
namespace {

constexpr std::uint64_t kEnd = 2 * kTarBlock;  // two blocks of zeros

std::uint64_t in_blocks(std::uint64_t bytes) { return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock; }

/// A header of POSIX ustar.
std::array<char, kTarBlock> header_of(const std::string& name, std::uint64_t bytes) {
  std::array<char, kTarBlock> header{};
  const auto put = [&](std::size_t at, std::string_view text) { std::ranges::copy(text, &header[at]); };
  put(0, name);
  put(100, "0000644");  // mode, then user, group, size and time
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", bytes));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, {"ustar\00000", 8});
  const int sum = std::accumulate(header.begin(), header.end(), 0, [](int before, char byte) {
    return before + static_cast<unsigned char>(byte);
  });
  put(148, {fmt::format("{:06o}", sum) + '\0'});
  return header;
}

std::string sum_line(const Sha256Digest& digest, const std::filesystem::path& path) {
  return hex_of(digest) + "  " + path.filename().string() + "\n";
}

}  // namespace

TarWriter::TarWriter(std::filesystem::path path) : path_(std::move(path)), file_(path_) {}

std::uint64_t TarWriter::bytes() const { return at_ + kEnd; }

std::uint64_t TarWriter::bytes_with(const NewTarSample& sample) const {
  const std::uint64_t target = sample.label >= 0 ? kTarBlock : in_blocks(sample.values.size());
  return bytes() + 2 * kTarBlock + in_blocks(sample.input.size()) + target;
}

void TarWriter::add(const std::string& key, const NewTarSample& sample) {
  TarSample written{.label = sample.label, .kind = sample.kind};
  written.input = write_member(key + '.' + sample.ending, sample.input);
  if (sample.label >= 0) {
    const std::string label = std::to_string(sample.label);
    write_member(key + ".cls", {reinterpret_cast<const std::uint8_t*>(label.data()), label.size()});
  } else {
    written.target = write_member(key + ".target.npy", sample.values);
  }
  samples_.push_back(written);
}

TarPart TarWriter::write_member(const std::string& name, std::span<const std::uint8_t> content) {
  constexpr std::size_t kLongestName = 100;
  assert(name.size() < kLongestName);
  const std::span bytes = std::as_bytes(content);
  const TarPart part{.offset = at_ + kTarBlock,
                     .bytes = static_cast<std::uint32_t>(bytes.size()),
                     .checksum = crc32_of(bytes)};
  const std::array header = header_of(name, bytes.size());
  write(std::as_bytes(std::span(header)));
  write(bytes);
  constexpr std::array<std::byte, kTarBlock> kZeros{};
  write(std::span(kZeros).first(in_blocks(bytes.size()) - bytes.size()));
  return part;
}

void TarWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  hash_.add(bytes);
  at_ += bytes.size();
}

std::string TarWriter::commit() {
  constexpr std::array<std::byte, kEnd> kZeros{};
  write(kZeros);
  file_.commit();
  const std::string index = tar_index_text(at_, samples_);
  write_file(index_path(path_.string()), index);
  Sha256 index_hash;
  index_hash.add(index);
  return sum_line(hash_.digest(), path_) + sum_line(index_hash.digest(), index_path(path_.string()));
}

}  // namespace trainer
