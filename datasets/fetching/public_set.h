#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A file of a public dataset as its publishers offer it.
struct PublicFile {
  std::string name;               ///< under which it is saved
  std::vector<std::string> urls;  ///< each offers the same bytes; they are tried in this order
  std::int64_t bytes = 0;
  std::string sha256;  ///< in hexadecimal digits
  /// Of a .tar.gz or .zip file: the files to unpack, without their folders; it is not kept then. Empty: the
  /// file itself is a file of the dataset.
  std::vector<std::string> members = {};
};

/// A dataset that `trainer fetch` downloads.
struct PublicSet {
  std::string name;
  std::string folder;  ///< below the data directory
  std::string help;    ///< "60,000 + 10,000 handwritten digits of 28x28 pixels"
  std::string config;  ///< the `dataset` of a config that trains on it: "mnist"
  std::vector<PublicFile> files;
};

/// All, in the order of a list for people.
std::span<const PublicSet> public_sets();

/// Error(usage) with all names if there is no such set.
const PublicSet& find_public_set(std::string_view name);

}  // namespace trainer
