#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/system/files.h"

namespace trainer {

/// Where a member of a tar shard lies.
struct TarPart {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t checksum = 0;  ///< CRC-32 of its bytes, if the shard has an index
};

/// A sample of a tar shard: an image file or an array, with its class or an array of values.
struct TarSample {
  enum class Kind : std::uint8_t { image, array };
  static constexpr std::int32_t kMostClasses = 1 << 20;
  static constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 30;

  TarPart input{}, target{};
  std::int32_t label = -1;  ///< -1: `target` holds values
  std::uint32_t shard = 0;  ///< its number in a list of shards
  Kind kind = Kind::image;

  bool has_label() const { return label >= 0; }
};

/// The samples of a tar shard, from its headers and labels. Error(data) with file and member if one is not as
/// WebDataset has it.
std::vector<TarSample> scan_tar_shard(const InputFile& shard);

/// The path of a shard's index, which need not exist.
std::string index_path(const std::string& shard);
/// The text of the index of a shard of so many bytes.
std::string tar_index_text(std::uint64_t shard_bytes, const std::vector<TarSample>& samples);
/// The samples of a shard from its index; nothing if it has none. Error(data) if the index is damaged, or
/// that of another file.
std::optional<std::vector<TarSample>> read_tar_index(const InputFile& shard);

}  // namespace trainer
