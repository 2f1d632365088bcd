#pragma once

#include <string>
#include <vector>

namespace trainer {

/// The words as one line for a shell, without control characters.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace trainer
