#include "cli/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/terminal/list_items.h"
#include "engine/config/source.h"
#include "engine/config/synonyms.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr double kMostPoints = 100'000;
constexpr double kLargestWhole = (1LL << 53) - 1;  // a double holds each whole number up to here

[[noreturn]] void fail(const std::string& setting, std::string what, std::string help) {
  throw Error(ExitCode::usage,
              {Diagnostic{.what = std::move(what), .place = "-s " + setting, .help = std::move(help)}});
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || rest != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::string whole_text(double number) { return fmt::format("{:.0f}", number); }

}  // namespace

std::optional<Space> Space::parse(const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const std::string key = setting.substr(0, equals);
  const std::string_view value = trimmed(std::string_view(setting).substr(equals + 1));
  if (value.starts_with('[')) {
    auto items = value.ends_with(']') ? list_items(value.substr(1, value.size() - 2)) : std::nullopt;
    if (!items || std::ranges::count(*items, "") > 0)
      fail(setting, in_quotes(value) + " is not a list of values", "[a, b, c]");
    return Space(key, std::move(*items));
  }
  for (const std::string_view kind : {"log", "uniform", "int"}) {
    if (!value.starts_with(kind) || !value.substr(kind.size()).starts_with('(')) continue;
    const auto bounds = value.ends_with(')')
                            ? list_items(value.substr(kind.size() + 1, value.size() - kind.size() - 2))
                            : std::nullopt;
    if (!bounds) fail(setting, in_quotes(value) + " is not closed", fmt::format("{}(low,high)", kind));
    return range(setting, key, kind, *bounds);
  }
  const std::string word(value.substr(0, value.find_first_of("([")));
  if (word.size() < value.size())
    if (const Meaning meant = meaning_of("choice", word, {"log", "uniform", "int"}); meant.is_certain())
      fail(setting, in_quotes(value) + " is not a space",
           fmt::format("{}(low,high){}", meant.name, meant.name == word ? "" : ": " + meant.hint));
  return std::nullopt;
}

Space Space::range(const std::string& setting, const std::string& key, std::string_view kind,
                   const std::vector<std::string>& bounds) {
  const bool is_whole = kind == "int", is_logarithmic = kind == "log";
  const std::string help = is_whole         ? "int(16,512)"
                           : is_logarithmic ? "log(1e-3,1e-1), or log(1e-3,1e-1,5) for 5 points"
                                            : "uniform(0,0.5), or uniform(0,0.5,6) for 6 points";
  std::vector<double> numbers;
  for (const std::string& bound : bounds) {
    const auto number = number_of(bound);
    if (!number) fail(setting, fmt::format("{} expects numbers, got {}", kind, in_quotes(bound)), help);
    numbers.push_back(*number);
  }
  if (numbers.size() < 2 || numbers.size() > (is_whole ? 2u : 3u))
    fail(setting, fmt::format("{} expects a low and a high bound", kind), help);
  if (numbers[0] >= numbers[1])
    fail(setting, fmt::format("the low bound of {} is not below the high one", kind), help);
  if (is_logarithmic && numbers[0] <= 0) fail(setting, "the bounds of log must be above 0", help);
  Space space(key, {});
  space.scale_ = is_logarithmic ? Scale::logarithmic : Scale::linear;
  space.low_ = numbers[0], space.high_ = numbers[1];
  if (is_whole) {
    if (std::ranges::any_of(numbers, [](double number) { return number != std::floor(number); }))
      fail(setting, "the bounds of int must be whole numbers", help);
    if (std::max(std::abs(space.low_), std::abs(space.high_)) > kLargestWhole)
      fail(setting,
           fmt::format("the bounds of int must be from {0:.0f} to {1:.0f}", -kLargestWhole, kLargestWhole),
           "a list of values");
    if (space.high_ - space.low_ >= kMostPoints)
      fail(setting, fmt::format("int spans more than {:.0f} numbers", kMostPoints),
           "uniform, or a list of values");
    for (double number = space.low_; number <= space.high_; ++number)
      space.points_.push_back(whole_text(number));
  } else if (numbers.size() == 3) {
    const double count = numbers[2];
    if (count != std::floor(count) || count < 2 || count > kMostPoints)
      fail(setting, fmt::format("{} expects 2 points or more, got {}", kind, in_quotes(bounds[2])), help);
    for (double point = 0; point < count; ++point)
      space.points_.push_back(space.text_of(space.number_at(point / (count - 1))));
  }
  return space;
}

double Space::number_at(double place) const {
  if (scale_ == Scale::linear) return low_ + place * (high_ - low_);
  return low_ * std::pow(high_ / low_, place);
}

std::string Space::text_of(double number) const {
  // An error below a thousandth of the range is no other value to a user.
  constexpr double kShare = 1e-3;
  const double allowed =
      scale_ == Scale::linear ? kShare * (high_ - low_) : kShare * number * std::log(high_ / low_);
  for (int digits = 3; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", number, digits);
    const double rounded = *number_of(text);
    if (std::abs(rounded - number) <= allowed && rounded >= low_ && rounded <= high_) return text;
  }
  return fmt::format("{}", number);
}

std::string Space::at(double place) const {
  if (points_.empty()) return text_of(number_at(place));
  const auto count = static_cast<double>(points_.size());
  return points_[std::min(static_cast<std::size_t>(place * count), points_.size() - 1)];
}

double Space::place_of(const std::string& value) const {
  if (low_ == high_) {
    const auto index = static_cast<double>(std::ranges::find(points_, value) - points_.begin());
    return points_.size() < 2 ? 0.5 : index / static_cast<double>(points_.size() - 1);
  }
  const double number = number_of(value).value_or(low_);
  return scale_ == Scale::linear ? (number - low_) / (high_ - low_)
                                 : std::log(number / low_) / std::log(high_ / low_);
}

std::vector<std::string> short_names(const std::vector<std::string>& keys) {
  const auto ending = [](const std::string& key, int words) {
    std::size_t at = key.size();
    for (int word = 0; word < words && at != std::string::npos && at > 0; ++word) at = key.rfind('.', at - 1);
    return at == std::string::npos || at == 0 ? key : key.substr(at + 1);
  };
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    int words = 1;
    const auto is_taken = [&](const std::string& other) {
      return other != key && ending(other, words) == ending(key, words);
    };
    while (ending(key, words) != key && std::ranges::any_of(keys, is_taken)) ++words;
    names.push_back(ending(key, words));
  }
  return names;
}

}  // namespace trainer
