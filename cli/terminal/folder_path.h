#pragma once

#include <filesystem>

namespace trainer {

/// The path of a folder without a slash at its end.
std::filesystem::path without_slash(const std::filesystem::path& folder);

/// The same with a name at its end: `.` and `..`, which have none, become absolute.
std::filesystem::path named_folder(const std::filesystem::path& folder);

}  // namespace trainer
