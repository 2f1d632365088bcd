#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainer {

/// The bytes of "16GiB" or "1.5 GB", at least 1 and at most 2^60; nothing for other texts.
std::optional<std::int64_t> bytes_of(std::string_view text);
/// The seconds of "90s", "30m", "1.5h" or "2d", above 0 and at most 10^9; nothing for other texts.
std::optional<double> seconds_in(std::string_view text);

}  // namespace trainer
