#include "cli/terminal/folder_path.h"

#include <system_error>

namespace trainer {

std::filesystem::path without_slash(const std::filesystem::path& folder) {
  const std::filesystem::path normal = folder.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

std::filesystem::path named_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = without_slash(folder);
  std::error_code ignored;
  return path == "." || path.filename() == ".." ? without_slash(std::filesystem::absolute(path, ignored))
                                                : path;
}

}  // namespace trainer
