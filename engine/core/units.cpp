#include "engine/core/units.h"

#include <charconv>
#include <cmath>

namespace trainer {

std::optional<double> quantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (problem != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, size] : units)
    if (name == unit) return number * size;
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of(std::string_view text) {
  constexpr Unit kUnits[] = {{"B", 1},    {"kB", 1e3},     {"KiB", 0x1p10}, {"MB", 1e6},    {"MiB", 0x1p20},
                             {"GB", 1e9}, {"GiB", 0x1p30}, {"TB", 1e12},    {"TiB", 0x1p40}};
  constexpr double kMost = 0x1p60;
  const std::optional<double> bytes = quantity(text, kUnits);
  if (!bytes || *bytes < 1 || *bytes > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*bytes);
}

std::optional<double> seconds_in(std::string_view text) {
  constexpr Unit kUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  constexpr double kMost = 1e9;
  const std::optional<double> seconds = quantity(text, kUnits);
  return seconds && *seconds > 0 && *seconds <= kMost ? seconds : std::nullopt;
}

}  // namespace trainer
