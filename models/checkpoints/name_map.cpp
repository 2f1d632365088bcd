#include "models/checkpoints/name_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/config/source.h"

namespace trainer {
namespace {

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = name.find('.');
    parts.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    name.remove_prefix(dot + 1);
  }
}

/// Adds to `found` what each `*` of the pattern stands for, the fewest characters that fit; false if the text
/// does not fit. A step back concerns the last `*` alone, so the cost is at most the product of the sizes.
bool fits(std::string_view pattern, std::string_view text, std::vector<std::string_view>& found) {
  const std::size_t before = found.size();
  std::size_t p = 0, t = 0, star = std::string_view::npos, begin = 0;
  while (t < text.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      begin = t;
      found.push_back(text.substr(begin, 0));
    } else if (p < pattern.size() && t < text.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos && begin + found.back().size() < text.size()) {
      found.back() = text.substr(begin, found.back().size() + 1);
      t = begin + found.back().size();
      p = star + 1;
    } else {
      found.resize(before);
      return false;
    }
  }
  return true;
}

/// The name by this rule; none if the rule does not fit.
std::optional<std::string> renamed(const NameMap::Rule& rule, const std::string& name) {
  const std::vector<std::string_view> patterns = parts_of(rule.first), parts = parts_of(name);
  if (patterns.size() > parts.size()) return std::nullopt;
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (!fits(patterns[i], parts[i], found)) return std::nullopt;
  std::string result;
  auto next = found.begin();
  for (const char c : rule.second) {
    if (c == '*')
      result += *next++;
    else
      result += c;
  }
  for (std::size_t i = patterns.size(); i < parts.size(); ++i) (result += '.') += parts[i];
  return result;
}

}  // namespace

NameMap::NameMap(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (const auto& [from, to] : rules_) {
    const std::string rule = "model.weights.map: " + in_quotes(fmt::format("{}: {}", from, to));
    if (from.empty() || to.empty()) throw Error(ExitCode::usage, rule + " lacks a name");
    if (std::ranges::count(to, '*') > std::ranges::count(from, '*'))
      throw Error(ExitCode::usage, rule + " has more `*` behind the colon than before it",
                  "each `*` stands for what that of the first name stands for, in their order");
  }
}

std::size_t NameMap::rule_of(const std::string& name) const {
  const auto fitting = [&](const Rule& rule) { return renamed(rule, name).has_value(); };
  return static_cast<std::size_t>(std::ranges::find_if(rules_, fitting) - rules_.begin());
}

std::string NameMap::operator()(const std::string& name) const {
  const std::size_t rule = rule_of(name);
  return rule < rules_.size() ? *renamed(rules_[rule], name) : name;
}

}  // namespace trainer
