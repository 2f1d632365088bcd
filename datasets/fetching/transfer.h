#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainer {

/// Called with the bytes that have arrived, those of an earlier attempt included.
using TransferProgress = std::function<void(std::int64_t)>;

/// What the module libtrainer-fetch.so does. Failures are Error(data) with the reason.
struct TransferFunctions {
  /// Appends what `partial` lacks of the file at `url`, of `bytes` bytes. Follows redirections to http and
  /// https, gives up after 30 seconds without a byte, and starts anew where the server cannot resume.
  void (*download)(const std::string& url, std::int64_t bytes, const std::filesystem::path& partial,
                   const TransferProgress& progress);
  /// In hexadecimal digits.
  std::string (*sha256)(const std::filesystem::path& file);
  /// Unpacks the `members` of a .tar.gz or .zip archive into `folder`, each whole or not at all. Error(data)
  /// if one is missing.
  void (*unpack)(const std::filesystem::path& archive, const std::vector<std::string>& members,
                 const std::filesystem::path& folder);
};

}  // namespace trainer

extern "C" const trainer::TransferFunctions* trainer_transfer_functions();
