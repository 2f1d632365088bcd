#pragma once

#include <filesystem>
#include <string>

namespace trainer {

/// The weights of `checkpoint`, "checkpoints/step-5" of a run directory, as HTML: the kernels of the first
/// convolution as images, and of each tensor its size, magnitude and histogram. Empty if there are none.
std::string weights_html(const std::filesystem::path& run, const std::string& checkpoint);

}  // namespace trainer
