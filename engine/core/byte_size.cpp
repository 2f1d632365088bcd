#include "engine/core/byte_size.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace trainer {

std::optional<std::int64_t> bytes_of(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1},    {"kB", 1e3},     {"KiB", 0x1p10}, {"MB", 1e6},    {"MiB", 0x1p20},
      {"GB", 1e9}, {"GiB", 0x1p30}, {"TB", 1e12},    {"TiB", 0x1p40}};
  constexpr double kMost = 0x1p60;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (problem != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, bytes] : kUnits)
    if (name == unit && number * bytes >= 1 && number * bytes <= kMost)
      return static_cast<std::int64_t>(number * bytes);
  return std::nullopt;
}

}  // namespace trainer
