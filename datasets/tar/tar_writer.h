#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "datasets/tar/tar_index.h"
#include "engine/core/sha256.h"
#include "engine/system/files.h"

namespace trainer {

/// A sample that is written to a tar shard.
struct NewTarSample {
  TarSample::Kind kind = TarSample::Kind::image;
  std::string ending;                ///< of the input's name: "jpg"
  std::vector<std::uint8_t> input;   ///< an image file or an .npy file
  std::int32_t label = -1;           ///< -1: `values` holds the target
  std::vector<std::uint8_t> values;  ///< an .npy file
};

/// Writes a tar shard and its index. Equal samples give equal files, at any time and for any user.
class TarWriter {
 public:
  explicit TarWriter(std::filesystem::path path);

  /// `key`: up to 80 characters without a dot.
  void add(const std::string& key, const NewTarSample& sample);
  std::int64_t samples() const { return static_cast<std::int64_t>(samples_.size()); }
  /// Of the shard, when it ends here; before commit().
  std::uint64_t bytes() const;
  /// Of the shard, when it ends after one more sample.
  std::uint64_t bytes_with(const NewTarSample& sample) const;
  /// Ends the shard and writes its index. Returns two lines for `sha256sum --check`.
  std::string commit();

 private:
  TarPart write_member(const std::string& name, std::span<const std::uint8_t> content);
  void write(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  OutputFile file_;
  Sha256 hash_;
  std::uint64_t at_ = 0;
  std::vector<TarSample> samples_;
};

}  // namespace trainer
