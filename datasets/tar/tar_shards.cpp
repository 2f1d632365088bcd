#include "datasets/tar/tar_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datasets/tar/tar_members.h"
#include "engine/core/sha256.h"
#include "engine/system/crc32.h"

namespace trainer {

TarShards::TarShards(const std::vector<std::string>& paths) {
  constexpr std::size_t kMostOpen = 256;  // the limit of a process is often 1024
  for (const std::string& path : paths) add(path, paths.size() <= kMostOpen);
}

void TarShards::add(const std::string& path, bool stays_open) {
  auto file = std::make_unique<InputFile>(path, ExitCode::data);
  std::optional<std::vector<TarSample>> indexed = read_tar_index(*file);
  const bool has_index = indexed.has_value();
  const auto number = static_cast<std::uint32_t>(shards_.size());
  shards_.push_back({.path = path, .bytes = file->size(), .has_checksums = has_index, .file = nullptr});
  for (TarSample& sample : has_index ? *indexed : scan_tar_shard(*file)) {
    sample.shard = number;
    samples_.push_back(sample);
    if (sample.kind != samples_.front().kind)
      fail(place(sample, sample.input), "samples are of two kinds",
           fmt::format("the first sample is {}", has_images() ? "an image" : "an array"));
    if (sample.has_label() != has_labels())
      fail(place(sample, sample.input), "samples have two kinds of targets",
           fmt::format("the first sample has {}", has_labels() ? "a class (.cls)" : "values (.target.npy)"));
  }
  if (stays_open) shards_.back().file = std::move(file);
}

std::int32_t TarShards::largest_label() const {
  return std::ranges::max_element(samples_, {}, &TarSample::label)->label;
}

void TarShards::check_labels(std::int32_t classes) const {
  const auto bad =
      std::ranges::find_if(samples_, [&](const auto& sample) { return sample.label >= classes; });
  if (bad != samples_.end())
    fail(place(*bad, bad->input), "label out of range",
         fmt::format("its label is {}; the classes are 0 to {}", bad->label, classes - 1));
}

void TarShards::check_sizes(std::int64_t inputs, std::int64_t targets) const {
  for (const TarSample& sample : samples_)
    for (const auto& [part, elements] : {std::pair{sample.input, inputs}, {sample.target, targets}})
      if (part.bytes < elements)
        fail(place(sample, part), "arrays differ in shape",
             fmt::format("{} bytes for the {} elements that the first sample has", part.bytes, elements));
}

std::string TarShards::fingerprint() const {
  Sha256 hash;
  std::uint64_t bytes = 0;
  for (const Shard& shard : shards_) {
    bytes += shard.bytes;
    hash.add(shard.bytes);
  }
  for (const TarSample& sample : samples_) {
    hash.add(sample.input.offset);
    hash.add(sample.input.bytes);
    hash.add(sample.target.offset);
    hash.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(sample.label)));
  }
  return fmt::format("{} tar shards, {} bytes, {} samples, places and labels {:.16}", shards_.size(), bytes,
                     size(), hex_of(hash.digest()));
}

void TarShards::read_input(std::int64_t index, std::vector<std::uint8_t>& bytes) const {
  read(samples_.at(index), samples_.at(index).input, bytes);
}

void TarShards::read_target(std::int64_t index, std::vector<std::uint8_t>& bytes) const {
  read(samples_.at(index), samples_.at(index).target, bytes);
}

void TarShards::read(const TarSample& sample, const TarPart& part, std::vector<std::uint8_t>& bytes) const {
  const Shard& shard = shards_.at(sample.shard);
  bytes.resize(part.bytes);
  const std::span all = std::as_writable_bytes(std::span(bytes));
  if (shard.file)
    shard.file->read(part.offset, all);
  else
    InputFile(shard.path, ExitCode::data).read(part.offset, all);
  if (!shard.has_checksums) return;
  if (const std::uint32_t sum = crc32_of(all); sum != part.checksum)
    fail(place(sample, part), "member is damaged",
         fmt::format("its CRC-32 is {:08x}; {} has {:08x}", sum, index_path(shard.path), part.checksum));
}

std::string TarShards::input_place(std::int64_t index) const {
  return place(samples_.at(index), samples_.at(index).input);
}

std::string TarShards::target_place(std::int64_t index) const {
  return place(samples_.at(index), samples_.at(index).target);
}

/// Finds the name in the shard: names are not kept, since only errors show them.
std::string TarShards::place(const TarSample& sample, const TarPart& part) const {
  const std::string& path = shards_.at(sample.shard).path;
  try {
    const InputFile file(path, ExitCode::data);
    TarMembers members(file);
    for (TarMember member; members.next(member);)
      if (member.offset == part.offset) return path + ": " + member.name;
  } catch (const Error&) {
    // The headers are damaged, too.
  }
  return fmt::format("{}: byte {}", path, part.offset);
}

void TarShards::fail(const std::string& place, const std::string& what, const std::string& note) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place, .notes = {note}}});
}

}  // namespace trainer
