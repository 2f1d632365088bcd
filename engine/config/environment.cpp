#include "engine/config/environment.h"

#include <algorithm>
#include <cstdlib>

#include "engine/core/utf8.h"

namespace trainer {
namespace {

constexpr std::string_view kBegin = "${", kLiteral = "$${", kFallback = ":-";

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool is_text(std::string_view value) {
  return is_utf8(value) &&
         std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// Where a part of a scalar is written; the whole scalar if it stands there in other letters.
Place place_of(const Node& scalar, std::string_view part) {
  Place place = scalar.place;
  if (place.source == nullptr || place.offset == Place::kWhole) return place;
  const std::size_t found = place.source->text.find(part, place.offset);
  return found == std::string::npos ? place : Place{place.source, found, part.size()};
}

}  // namespace

void EnvironmentValues::insert_into(Node& scalar) {
  if (scalar.text.find(kBegin) == std::string::npos) return;
  const auto fail = [&](std::string_view part, std::string what, const std::string& hint = "") {
    mistakes_.add(place_of(scalar, part), std::move(what), hint);
  };
  const bool begins_with_it = scalar.text[scalar.text.find_first_not_of('$')] == '{';
  std::string text;
  for (std::string_view rest = scalar.text; !rest.empty();) {
    if (rest.starts_with(kLiteral)) {
      text += kBegin;
      rest.remove_prefix(kLiteral.size());
      continue;
    }
    if (!rest.starts_with(kBegin)) {
      text += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t end = rest.find('}');
    const std::string_view part = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    const std::string_view inside = part.substr(kBegin.size(), end - kBegin.size());
    const std::size_t colon = inside.find(kFallback);
    const std::string name(inside.substr(0, colon));
    const bool has_fallback = colon != std::string_view::npos;
    if (end == std::string_view::npos || !is_name(name) || inside.find(kBegin) != std::string_view::npos)
      return fail(part, in_quotes(part) + " is no environment variable",
                  "write `${NAME}` or `${NAME:-fallback}`; a literal `${` is `$${`");
    const char* const found = std::getenv(name.c_str());
    std::string_view value = found == nullptr ? "" : found;
    if (value.empty() && has_fallback) value = inside.substr(colon + kFallback.size());
    if (found == nullptr && !has_fallback)
      return fail(part, "the environment variable " + in_quotes(name) + " is not set",
                  "`${" + name + ":-fallback}` works without it");
    if (!is_text(value)) return fail(part, "the value of " + in_quotes(name) + " is not a text in UTF-8");
    if (value.size() > room_)
      return fail(part, "environment variables give more than " + std::to_string(kMaxBytes) + " bytes");
    room_ -= value.size();
    text += value;
    rest.remove_prefix(part.size());
  }
  // In `{path: "${DATA}"}` YAML requires the quotes; the value is a number or a text as it would be without.
  if (begins_with_it || !scalar.text.starts_with('$')) scalar.plain = !text.starts_with('$');
  scalar.text = std::move(text);
}

std::string value_note(const Node& scalar) {
  const Place& place = scalar.place;
  if (place.source == nullptr || place.offset == Place::kWhole) return "";
  const std::string_view written = std::string_view(place.source->text).substr(place.offset, place.length);
  return written.find(kBegin) == std::string_view::npos ? "" : "its value is " + in_quotes(scalar.text);
}

std::string without_variables(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view(text).substr(i).starts_with(kBegin)) result += '$';
    result += text[i];
  }
  return result;
}

}  // namespace trainer
