#include "engine/config/config.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "engine/config/config_node.h"
#include "engine/config/declared.h"

namespace trainer {
namespace {

[[noreturn]] void misuse(const ConfigNode& node, const std::string& what) {
  throw std::logic_error("config: " + (node.path.empty() ? node.type : node.path) + " " + what);
}

const ConfigNode& child_of(const ConfigNode& node, std::string_view key) {
  const ConfigNode* child = node.child(key);
  if (child == nullptr) misuse(node, "declares no key " + std::string(key));
  return *child;
}

/// Adds "with -s train.epochs=1" for the overrides in a node, but for the one that `shown` is.
void note_overrides(const ConfigNode& node, const SourceText* shown, std::vector<std::string>& notes) {
  const SourceText* const source = node.place.source;
  if (source != nullptr && source != shown && source->origin == SourceText::Origin::command_line)
    if (std::string note = "with " + source->name; std::ranges::find(notes, note) == notes.end())
      notes.push_back(std::move(note));
  for (const ConfigNode& child : node.children) note_overrides(child, shown, notes);
}

using TextMap = std::vector<std::pair<std::string, std::string>>;

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;

template <class T>
T value_of(const ConfigNode& node) {
  if (node.awaited.node != nullptr) misuse(node, "was read before the data gave " + node.awaited.node->text);
  if (!node.present) misuse(node, "was read without has()");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (const auto* value = std::get_if<std::int64_t>(&node.value)) {
      if (*value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max())
        throw Error(
            ExitCode::usage,
            {diagnostic_at(node.nearest, "`" + node.key + "` is too large: " + std::to_string(*value))});
      return static_cast<T>(*value);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    if (const auto* value = std::get_if<double>(&node.value)) return static_cast<T>(*value);
    if (const auto* value = std::get_if<std::int64_t>(&node.value)) return static_cast<T>(*value);
  } else if constexpr (std::is_same_v<T, TextMap>) {
    if (node.setting != nullptr && has_any_keys(*node.setting)) {
      TextMap texts;
      for (const ConfigNode& child : node.children)
        texts.emplace_back(child.key, value_of<std::string>(child));
      return texts;
    }
  } else {
    if constexpr (!std::is_same_v<T, std::vector<std::string>>)
      if (const auto* value = std::get_if<T>(&node.value)) return *value;
    if constexpr (is_vector<T>) {
      if (node.setting != nullptr && node.setting->kind == Setting::Kind::list) {
        T values;
        for (const ConfigNode& child : node.children)
          values.push_back(value_of<typename T::value_type>(child));
        return values;
      }
    }
  }
  misuse(node, "was read as another type than its own");
}

}  // namespace

const std::string& Config::type() const { return node_->type; }

std::string Config::path() const { return node_->path; }

std::string Config::place() const { return node_->place.text(); }

bool Config::has(std::string_view key) const { return child_of(*node_, key).present; }

bool Config::given(std::string_view key) const { return child_of(*node_, key).given; }

template <class T>
T Config::get(std::string_view key) const {
  return value_of<T>(child_of(*node_, key));
}

template <class T>
T Config::value() const {
  return value_of<T>(*node_);
}

bool Config::is_word(std::string_view key, std::string_view word) const {
  const auto* value = std::get_if<std::string>(&child_of(*node_, key).value);
  return value != nullptr && *value == word;
}

Config Config::at(std::string_view key) const {
  const ConfigNode& child = child_of(*node_, key);
  if (!child.present) misuse(child, "was read without has()");
  return Config(child);
}

std::vector<Config> Config::items(std::string_view key) const { return at(key).items(); }

std::vector<Config> Config::items() const {
  if (node_->setting == nullptr || node_->setting->kind != Setting::Kind::list)
    misuse(*node_, "is not a list");
  std::vector<Config> result;
  for (const ConfigNode& child : node_->children) result.emplace_back(child);
  return result;
}

void Config::fail(std::string_view key, std::string what, std::string help) const {
  throw Error(ExitCode::usage, {diagnostic(key, std::move(what), std::move(help))});
}

Diagnostic Config::diagnostic(std::string_view key, std::string what, std::string help) const {
  const ConfigNode& node = key.empty() ? *node_ : child_of(*node_, key);
  std::vector<std::string> notes;
  note_overrides(node, node.nearest.source, notes);
  return diagnostic_at(node.nearest, std::move(what), "", notes, std::move(help));
}

template bool Config::get(std::string_view) const;
template int Config::get(std::string_view) const;
template std::int64_t Config::get(std::string_view) const;
template float Config::get(std::string_view) const;
template double Config::get(std::string_view) const;
template std::string Config::get(std::string_view) const;
template Duration Config::get(std::string_view) const;
template std::vector<std::int64_t> Config::get(std::string_view) const;
template std::vector<Duration> Config::get(std::string_view) const;
template std::vector<std::string> Config::get(std::string_view) const;
template TextMap Config::get(std::string_view) const;

template bool Config::value() const;
template int Config::value() const;
template std::int64_t Config::value() const;
template float Config::value() const;
template double Config::value() const;
template std::string Config::value() const;
template Duration Config::value() const;
template std::vector<std::int64_t> Config::value() const;
template std::vector<Duration> Config::value() const;
template std::vector<std::string> Config::value() const;

}  // namespace trainer
