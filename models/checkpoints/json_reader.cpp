#include "models/checkpoints/json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {

void JsonReader::fail(const std::string& what) { throw Error(ExitCode::weights, "is damaged: " + what); }

JsonReader JsonReader::at(const char* key) const {
  if (!has(key)) fail(fmt::format("it has no {}", key));
  return JsonReader(json_[key]);
}

std::vector<JsonReader> JsonReader::items(std::size_t most) const {
  if (!json_.is_array() || json_.size() > most) fail("a list of values is missing or too long");
  std::vector<JsonReader> items;
  items.reserve(json_.size());
  for (const Json& one : json_) items.emplace_back(one);
  return items;
}

std::int64_t JsonReader::count(std::int64_t most) const {
  if (!json_.is_number_integer() ||
      (json_.is_number_unsigned() && !std::in_range<std::int64_t>(json_.get<std::uint64_t>())))
    fail("a whole number is missing");
  const auto value = json_.get<std::int64_t>();
  if (value < 0) fail("a number is negative");
  if (value > most) fail("a number is out of its range");
  return value;
}

double JsonReader::real() const {
  if (json_ == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json_ == "inf") return std::numeric_limits<double>::infinity();
  if (json_ == "-inf") return -std::numeric_limits<double>::infinity();
  if (!json_.is_number()) fail("a number is missing");
  return json_.get<double>();
}

bool JsonReader::truth() const {
  if (!json_.is_boolean()) fail("a truth is missing");
  return json_.get<bool>();
}

std::string JsonReader::text() const {
  if (!json_.is_string()) fail("a text is missing");
  return json_.get<std::string>();
}

std::string JsonReader::bytes() const {
  if (!json_.is_object()) return text();
  const std::string hex = at("hex").text();
  std::string bytes;
  if (hex.size() % 2 != 0) fail("a text in hexadecimal digits is wrong");
  for (const char* next = hex.data(); next != hex.data() + hex.size(); next += 2) {
    unsigned char value = 0;
    const auto [end, problem] = std::from_chars(next, next + 2, value, 16);
    if (problem != std::errc() || end != next + 2) fail("a text in hexadecimal digits is wrong");
    bytes += static_cast<char>(value);
  }
  return bytes;
}

nlohmann::ordered_json parse_json(std::string_view text, int deepest) {
  const auto guard = [deepest](int depth, nlohmann::ordered_json::parse_event_t,
                               const nlohmann::ordered_json&) {
    if (depth > deepest) throw std::runtime_error("it is nested too deeply");
    return true;
  };
  try {
    return nlohmann::ordered_json::parse(text, guard);
  } catch (const std::exception&) {
    // Whatever does not parse is not what was summed; its text would mean nothing to the user.
    JsonReader::fail("its checksum is wrong");
  }
}

nlohmann::ordered_json text_json(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string hex;
  for (const char byte : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return {{"hex", hex}};
}

nlohmann::ordered_json real_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace trainer
