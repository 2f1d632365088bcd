#pragma once

#include <filesystem>

namespace trainer {

/// In a bundle: the SHA-256 of each of its files.
inline constexpr const char* kBundleFile = "bundle.json";

/// If a directory is a bundle, Error(weights) names the first of its files that is missing or changed.
void check_bundle(const std::filesystem::path& directory);

}  // namespace trainer
