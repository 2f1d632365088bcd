#pragma once

#include <filesystem>
#include <system_error>

namespace trainer {

/// A directory that is filled under another name, DIR.partial, and gets its own once it is complete. Without
/// commit() nothing stays.
class NewDirectory {
 public:
  /// Error(usage) if `directory` exists. What an earlier attempt left is removed.
  explicit NewDirectory(const std::filesystem::path& directory);
  ~NewDirectory();
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;

  /// Where files are written until then.
  const std::filesystem::path& path() const { return partial_; }
  void commit();

 private:
  void check(const std::error_code& error) const;

  std::filesystem::path directory_, partial_;
  bool is_complete_ = false;
};

}  // namespace trainer
