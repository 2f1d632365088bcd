#include "cli/terminal/shell_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace trainer {
namespace {

bool is_plain(unsigned char letter) {
  return letter < 128 && (std::isalnum(letter) || std::strchr("_./:=,@%+-", letter));
}

bool is_control(unsigned char letter) { return letter < 0x20 || letter == 0x7F; }

/// The word as a shell reads it back, without control characters: plain, 'quoted' or $'with escapes'.
std::string shell_word(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  const bool has_controls = std::ranges::any_of(word, is_control);
  std::string text = has_controls ? "$'" : "'";
  for (const char letter : word) {
    if (is_control(static_cast<unsigned char>(letter)))
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
    else if (has_controls && (letter == '\'' || letter == '\\'))
      text += std::string("\\") + letter;
    else
      text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return text + "'";
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace trainer
