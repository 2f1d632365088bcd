#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace trainer {

/// Its name and its size in the smallest unit.
using Unit = std::pair<std::string_view, double>;

/// "1.5 GB": a number, at least 0, with one of these units, in the smallest one; nothing for other texts.
std::optional<double> quantity(std::string_view text, std::span<const Unit> units);

/// The bytes of "16GiB" or "1.5 GB", at least 1 and at most 2^60; nothing for other texts.
std::optional<std::int64_t> bytes_of(std::string_view text);
/// The seconds of "90s", "30m", "1.5h" or "2d", above 0 and at most 10^9; nothing for other texts.
std::optional<double> seconds_in(std::string_view text);

}  // namespace trainer
