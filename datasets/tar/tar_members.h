#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/system/files.h"

namespace trainer {

constexpr std::uint64_t kTarBlock = 512;  ///< headers take a block, contents whole ones

/// A regular file in a tar archive.
struct TarMember {
  std::string name{};
  std::uint64_t offset = 0, bytes = 0;  ///< of its content
};

/// The members of a plain tar archive, read header by header: POSIX ustar and pax, and GNU's long names.
/// Every claim is compared with the size of the file. Error(data) if the file is damaged or compressed.
class TarMembers {
 public:
  /// `file` must outlive it.
  explicit TarMembers(const InputFile& file);

  /// Gives the next regular file; folders and links are passed over. False at the end of the archive.
  bool next(TarMember& member);

 private:
  struct Header;

  Header read_header();
  void take_pax(std::string_view records);
  /// The content of a member that describes the next one.
  std::string description(std::uint64_t bytes);
  [[noreturn]] void fail(const std::string& what, const std::string& note) const;

  const InputFile& file_;
  std::uint64_t header_ = 0, next_ = 0;  ///< offsets of the current header and of the next one
  std::string long_name_{};              ///< of the next member; empty: that of its header
  std::int64_t long_size_ = -1;          ///< of the next member; -1: that of its header
};

}  // namespace trainer
