#include "models/prediction/generated_text.h"

#include <algorithm>
#include <utility>

#include "engine/core/utf8.h"

namespace trainer {
namespace {

/// The bytes at the end of `text` that may be the begin of `stop`.
std::size_t begun(std::string_view text, std::string_view stop) {
  std::size_t bytes = std::min(text.size(), stop.size() - 1);
  while (!stop.starts_with(text.substr(text.size() - bytes))) --bytes;
  return bytes;
}

}  // namespace

std::string GeneratedText::add(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  std::size_t certain = held_.size(), place = held_.size();
  for (const std::string& stop : stops_) {
    place = std::min(place, held_.find(stop));
    certain = std::min(certain, held_.size() - begun(held_, stop));
  }
  stopped_ = place < held_.size();
  const std::string text =
      characters(std::string_view(held_).substr(0, stopped_ ? place : certain), stopped_);
  held_.erase(0, stopped_ ? held_.size() : certain);
  return text;
}

std::string GeneratedText::end() { return characters(std::exchange(held_, {}), true); }

std::string GeneratedText::characters(std::string_view bytes, bool is_end) {
  const std::string all = std::exchange(character_, {}) + std::string(bytes);
  std::string text;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t begin = at;
    if (next_character(all, at) != kNoCharacter) {
      text.append(all, begin, at - begin);
      continue;
    }
    const std::size_t part = begun_character(all, at);
    if (part > 0 && at + part == all.size() && !is_end) {
      character_ = all.substr(at);
      break;
    }
    text += "\xEF\xBF\xBD";
    at += std::max<std::size_t>(part, 1);
  }
  return text;
}

}  // namespace trainer
