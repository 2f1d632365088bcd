#include "cli/terminal/validators.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "engine/config/source.h"
#include "engine/config/synonyms.h"

namespace trainer {
namespace {

/// NaN if it is none.
double number_of(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end ? number : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// CLI11's own check reports ranges of floating-point numbers.
CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto mistake = [=](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc() && stop == end && number >= least && number <= most) return "";
    const bool bounded = most != std::numeric_limits<std::int64_t>::max();
    return fmt::format(
        "expects a whole number {}, got {}",
        bounded ? fmt::format("from {} to {}", least, most) : fmt::format("of at least {}", least),
        in_quotes(text));
  };
  return CLI::Validator(mistake, "");
}

CLI::Validator positive_number() {
  const auto mistake = [](const std::string& text) -> std::string {
    if (const double number = number_of(text); std::isfinite(number) && number > 0) return "";
    return "expects a number above 0, got " + in_quotes(text);
  };
  return CLI::Validator(mistake, "");
}

CLI::Validator number_within(double least, double most) {
  const auto mistake = [=](const std::string& text) -> std::string {
    if (const double number = number_of(text); number >= least && number <= most) return "";
    return fmt::format("expects a number from {} to {}, got {}", least, most, in_quotes(text));
  };
  return CLI::Validator(mistake, "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? "expects a text that is not empty" : ""; }, "");
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto mistake = [=](const std::string& text) -> std::string {
    if (std::count(names.begin(), names.end(), text) > 0) return "";
    const std::string hint = meaning_of("choice", text, names).hint;
    return fmt::format("expects {}, got {}{}", listed(names, "or"), in_quotes(text),
                       hint.empty() ? "" : "; " + hint);
  };
  return CLI::Validator(mistake, "").name(fmt::format("{}", fmt::join(names, " ")));
}

CLI::Validator one_of_or_file(const std::vector<std::string>& names, const std::string& file) {
  std::vector<std::string> choices = names;
  choices.push_back(file);
  const auto mistake = [check = one_of(choices)](std::string& text) -> std::string {
    std::error_code ignored;
    const bool is_file =
        text.find_first_of("./") != std::string::npos || std::filesystem::exists(text, ignored);
    return is_file ? "" : check(text);
  };
  return CLI::Validator(mistake, "").name(fmt::format("{}", fmt::join(names, " ")));
}

CLI::Validator proposed(const std::vector<std::string>& names) {
  const auto accepts = [](const std::string&) { return std::string(); };
  return CLI::Validator(accepts, "").name(fmt::format("{}", fmt::join(names, " ")));
}

}  // namespace trainer
