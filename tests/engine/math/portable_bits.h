#pragma once

#include <string>

namespace trainer {

/// What each family of kernels of engine/math computes from fixed values, as a hash of its bits: "products
/// 6e7b...\n...".
std::string portable_text();

/// The same with portable kernels, on every processor and by every compiler.
extern const char* const kRecordedBits;

}  // namespace trainer
