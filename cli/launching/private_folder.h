#pragma once

#include <filesystem>

#include "engine/system/files.h"

namespace trainer {

/// A folder for the files of one job, used by its processes on a host. The last of them that ends regularly
/// removes it; after SIGKILL, the next job of the same user does.
class PrivateFolder {
 public:
  /// A new folder in `parent`, of a name that no other job has; path() is empty if there can be none.
  static PrivateFolder create(const std::filesystem::path& parent);
  /// The folder of that path, which is created unless it exists. Not used, and path() empty, if it belongs to
  /// another user. Removes the folders of dead jobs beside it.
  static PrivateFolder join(const std::filesystem::path& path);

  PrivateFolder() = default;
  PrivateFolder(PrivateFolder&&) noexcept = default;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();

  const std::filesystem::path& path() const { return path_; }
  /// In a child, before exec: the program that it becomes uses the folder, too.
  void keep_through_exec() const;

 private:
  std::filesystem::path path_;
  Descriptor lock_ = Descriptor(-1);  ///< holds a shared lock on a file in the folder
};

}  // namespace trainer
