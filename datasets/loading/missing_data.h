#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/core/error.h"

namespace trainer {

/// For a dataset without files at `path`: notes what of the paths exists, and puts what may be meant in front
/// of the help. `looked_for`: as of Reader::missing(), at least one.
void explain_missing(const std::filesystem::path& path, const std::vector<std::string>& looked_for,
                     Diagnostic& problem);

}  // namespace trainer
