#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/tar/tar_index.h"

namespace trainer {

/// The samples of several tar shards, one shard after the other, all of one kind. Samples are read by
/// position, by several threads at the same time. Error(data) with file and member if one is damaged.
class TarShards {
 public:
  /// Reads the index of each shard; the headers and labels of one without.
  explicit TarShards(const std::vector<std::string>& paths);

  std::int64_t size() const { return static_cast<std::int64_t>(samples_.size()); }
  bool has_images() const { return samples_.front().kind == TarSample::Kind::image; }
  bool has_labels() const { return samples_.front().has_label(); }
  std::int32_t label(std::int64_t index) const { return samples_.at(index).label; }
  std::int32_t largest_label() const;
  /// Error(data) if a label is not in [0, classes).
  void check_labels(std::int32_t classes) const;
  /// Error(data) if a sample's arrays have fewer bytes than elements: a claim of the first one alone takes no
  /// memory.
  void check_sizes(std::int64_t inputs, std::int64_t targets) const;
  /// Number and bytes of the shards, and a hash of what is known of the samples.
  std::string fingerprint() const;

  /// Reads the image file or the array of a sample.
  void read_input(std::int64_t index, std::vector<std::uint8_t>& bytes) const;
  /// Reads the array of its values, if samples have no labels.
  void read_target(std::int64_t index, std::vector<std::uint8_t>& bytes) const;
  /// "shards/train-000000.tar: 000123.jpg"
  std::string input_place(std::int64_t index) const;
  std::string target_place(std::int64_t index) const;
  [[noreturn]] void fail(const std::string& place, const std::string& what, const std::string& note) const;

 private:
  struct Shard {
    std::string path;
    std::uint64_t bytes = 0;
    bool has_checksums = false;
    std::unique_ptr<InputFile> file;  ///< null: opened at each read
  };

  void add(const std::string& path, bool stays_open);
  void read(const TarSample& sample, const TarPart& part, std::vector<std::uint8_t>& bytes) const;
  std::string place(const TarSample& sample, const TarPart& part) const;

  std::vector<Shard> shards_;
  std::vector<TarSample> samples_;
};

}  // namespace trainer
