#include "engine/core/escape.h"

#include "engine/core/utf8.h"

namespace trainer {
namespace {

std::string hexadecimal(std::uint32_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  return {kDigits[value / 16], kDigits[value % 16]};
}

/// `byte`: a C0 control character, DEL, or a byte that is not UTF-8.
std::string visible(unsigned char byte) {
  switch (byte) {
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    default:
      return "\\x" + hexadecimal(byte);
  }
}

std::string escape(std::string_view text, bool keep_lines) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const std::uint32_t character = next_character(text, at);
    if (character == kNoCharacter)
      result += visible(static_cast<unsigned char>(text[at++]));
    else if (character == '\n' && keep_lines)
      result += '\n';
    else if (character < 0x20 || character == 0x7F)
      result += visible(static_cast<unsigned char>(character));
    else if (character >= 0x80 && character < 0xA0)
      result += "\\u00" + hexadecimal(character);
    else
      result += text.substr(begin, at - begin);
  }
  return result;
}

}  // namespace

std::string escaped(std::string_view text) { return escape(text, false); }

std::string escaped_lines(std::string_view text) { return escape(text, true); }

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

}  // namespace trainer
