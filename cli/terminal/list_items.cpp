#include "cli/terminal/list_items.h"

namespace trainer {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::vector<std::string>> list_items(std::string_view text) {
  std::vector<std::string> items;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '\'' || letter == '"') {
      quote = letter;
    } else if (letter == '[' || letter == '{' || letter == '(') {
      ++depth;
    } else if (letter == ']' || letter == '}' || letter == ')') {
      if (--depth < 0) return std::nullopt;
    } else if (letter == ',' && depth == 0) {
      items.emplace_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (depth != 0 || quote != 0) return std::nullopt;
  items.emplace_back(trimmed(text.substr(begin)));
  return items;
}

}  // namespace trainer
