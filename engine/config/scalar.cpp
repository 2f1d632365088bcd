#include "engine/config/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

#include "engine/core/lower_case.h"

namespace trainer {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

enum class Look { number, leading_zero, other };

/// Decimal numbers only: what YAML 1.1 takes for octal, hexadecimal or base 60 is no number here.
Look look_of(std::string_view text) {
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  const std::size_t whole = i - first;
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.')
    for (++i; i < text.size() && is_digit(text[i]); ++i) ++fraction;
  if (whole + fraction == 0) return Look::other;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    const std::size_t exponent = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    if (i == exponent) return Look::other;
  }
  if (i != text.size()) return Look::other;
  return whole > 1 && text[first] == '0' ? Look::leading_zero : Look::number;
}

std::string hint_for_text(std::string_view text) {
  if (text.ends_with('%') && look_of(text.substr(0, text.size() - 1)) != Look::other)
    return "a share of 1, without `%`";
  if (const std::size_t cross = text.find('x');
      cross != std::string_view::npos && text.substr(0, cross) != "0" &&
      look_of(text.substr(0, cross)) == Look::number && look_of(text.substr(cross + 1)) == Look::number)
    return fmt::format("write `[{}, {}]`", text.substr(0, cross), text.substr(cross + 1));
  const std::string_view amount = text.substr(0, text.find_last_of("0123456789") + 1);
  if (amount.size() < text.size() && look_of(amount) == Look::number &&
      std::ranges::all_of(text.substr(amount.size()), [](unsigned char c) { return std::isalpha(c) != 0; }) &&
      text.find_first_of("OolI") == text.npos)
    return fmt::format("without a unit: `{}`", amount);
  std::string mended(text);
  std::string hint;
  for (char& c : mended) {
    if (c == 'O' || c == 'o') {
      hint = fmt::format("a letter {}, not a zero?", c);
      c = '0';
    } else if (c == 'l' || c == 'I') {
      if (hint.empty()) hint = fmt::format("a letter {}, not a one?", c);
      c = '1';
    } else if (c == ',') {
      if (hint.empty()) hint = "a comma, not a point?";
      c = '.';
    } else if (c == '_') {
      if (hint.empty()) hint = "digits only, without `_`";
      c = '0';
    }
  }
  return look_of(mended) == Look::other ? "" : hint;
}

/// "1000" for "1,000"; empty for what is no whole number with commas between thousands.
std::string without_commas(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_comma = i > 0 && (text.size() - i) % 4 == 0;
    if (is_comma ? text[i] != ',' : !is_digit(text[i])) return "";
    if (!is_comma) digits += text[i];
  }
  return digits;
}

/// Common to integers and reals: text that is a decimal number, or why not.
Misread expect_number(const Node& node, const std::string& expected) {
  if (!node.is_scalar()) return {"expects " + expected + ", got " + node.form_name(), ""};
  const Look look = look_of(node.text);
  if (!node.plain)
    return {"expects " + expected + ", got a text",
            look == Look::number ? "without the quotes" : hint_for_text(node.text)};
  if (look == Look::number) return {};
  if (look == Look::leading_zero)
    return {"expects " + expected + ", got " + in_quotes(node.text), "without leading zeros"};
  if (node.text == "true" || node.text == "false") return {"expects " + expected + ", got " + node.text, ""};
  return {"expects " + expected + ", got a text", hint_for_text(node.text)};
}

bool to_double(std::string_view text, double& value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is zero; too large is refused.
    value = 0;
    const std::size_t e = text.find_first_of("eE");
    return e != std::string_view::npos && e + 1 < text.size() && text[e + 1] == '-';
  }
  return result.ec == std::errc() && std::isfinite(value);
}

}  // namespace

Misread read_boolean(const Node& node, bool& value) {
  if (!node.is_scalar()) return {"expects true or false, got " + node.form_name(), ""};
  if (!node.plain) {
    return {"expects true or false, got a text",
            node.text == "true" || node.text == "false" ? "without the quotes" : ""};
  }
  value = node.text == "true";
  if (value || node.text == "false") return {};
  const std::string lower = lower_case(node.text);
  const bool yes = lower == "yes" || lower == "on" || lower == "y" || lower == "1" || lower == "true";
  const bool no = lower == "no" || lower == "off" || lower == "n" || lower == "0" || lower == "false";
  return {"expects true or false, got " + in_quotes(node.text), yes  ? "write `true`"
                                                                : no ? "write `false`"
                                                                     : ""};
}

Misread read_integer(const Node& node, std::int64_t& value) {
  const std::string expected = "a whole number";
  if (Misread misread = expect_number(node, expected)) {
    const std::string digits = without_commas(node.text);
    if (!digits.empty() && digits != node.text) misread.hint = "write `" + digits + "`";
    return misread;
  }
  std::string_view text = node.text;
  if (text[0] == '+') text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size()) return {};
  double real = 0;
  const bool finite = to_double(text, real);
  if (finite && real == std::floor(real) &&
      std::abs(real) <= 9007199254740992.0) {  // 2^53: exact until there
    value = static_cast<std::int64_t>(real);
    return {};
  }
  const bool large = !finite || real == std::floor(real);
  return {large ? "is too large: " + in_quotes(node.text)
                : "expects " + expected + ", got " + in_quotes(node.text),
          ""};
}

Misread read_real(const Node& node, double& value) {
  if (Misread misread = expect_number(node, "a number")) return misread;
  if (!to_double(node.text, value)) return {"is too large: " + in_quotes(node.text), ""};
  return {};
}

std::string number_text(double value) {
  char text[40];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

std::string range_words(const Setting& setting) {
  const auto words_for = [](double bound) {
    // 1000000, which people read more easily than the shorter 1e+06.
    const bool whole = bound == std::floor(bound) && std::abs(bound) < 1e12;
    return whole ? std::to_string(static_cast<std::int64_t>(bound)) : number_text(bound);
  };
  const auto low = [&] { return words_for(*setting.minimum); };
  const auto high = [&] { return words_for(*setting.maximum); };
  if (setting.minimum && setting.maximum && !setting.above_minimum && !setting.below_maximum)
    return "from " + low() + " to " + high();
  std::string words;
  if (setting.minimum) words = (setting.above_minimum ? "above " : "at least ") + low();
  if (setting.maximum)
    words +=
        (words.empty() ? "" : " and ") + std::string(setting.below_maximum ? "below " : "at most ") + high();
  return words;
}

std::string out_of_range(const Setting& setting, double value, const std::string& written) {
  const bool low =
      setting.minimum && (setting.above_minimum ? value <= *setting.minimum : value < *setting.minimum);
  const bool high =
      setting.maximum && (setting.below_maximum ? value >= *setting.maximum : value > *setting.maximum);
  return low || high ? "must be " + range_words(setting) + ", got " + written : "";
}

}  // namespace trainer
