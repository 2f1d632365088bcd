#pragma once

#include <cstdint>
#include <string>

namespace trainer {

/// "274,758"
std::string grouped(std::int64_t number);
/// "4 ranks", "1 rank"
std::string counted(std::int64_t number, const std::string& noun, const std::string& plural_ending = "s");

}  // namespace trainer
