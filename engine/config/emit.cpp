#include "engine/config/emit.h"

#include <algorithm>
#include <map>

#include "engine/config/environment.h"
#include "engine/config/scalar.h"
#include "engine/config/written_yaml.h"
#include "engine/core/lower_case.h"

namespace trainer {

std::string yaml_text(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '.' || c == '-';
  };
  const bool starts_well = !text.empty() && plain(text[0]) && text[0] != '-' && text[0] != '.' &&
                           !(text[0] >= '0' && text[0] <= '9');
  const std::string lower = lower_case(text);
  const bool reserved = lower == "true" || lower == "false" || lower == "null" || lower == "yes" ||
                        lower == "no" || lower == "on" || lower == "off" || lower == "y" || lower == "n";
  if (starts_well && !reserved && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string result = "\"";
  for (const char c : without_variables(text)) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += {'\\', 'x', kDigits[c / 16], kDigits[c % 16]};
    } else {
      result += c;
    }
  }
  return result + "\"";
}

namespace {

/// Of the list of the network's layers.
constexpr const char* kLayersPath = "model.layers";

std::string duration_text(const std::vector<Duration>& durations, bool several) {
  if (durations.empty()) return "{steps: []}";
  std::string counts;
  for (const Duration& one : durations) counts += (counts.empty() ? "" : ", ") + std::to_string(one.count);
  return std::string(durations[0].in_epochs ? "{epochs: " : "{steps: ") +
         (several ? "[" + counts + "]" : counts) + "}";
}

class Emitter {
 public:
  /// `minimal`: leaves out what has its default. `layers`, unless null: the layers as they were written.
  explicit Emitter(Checker& checker, bool minimal = false, const Node* layers = nullptr)
      : checker_(checker), minimal_(minimal), layers_(layers) {
    if (checker.has_layers()) checker.check_shared_defaults(shared_);
  }

  /// In a line.
  std::string node(const ConfigNode& one) { return flow(one); }

  std::string whole(const ConfigNode& root) {
    if (root.setting != nullptr) return flow(root) + "\n";  // a single member
    std::string yaml;
    for (const ConfigNode& child : root.children) {
      if (!child.present) continue;
      const bool opened =
          child.setting->kind == Setting::Kind::section &&
          std::ranges::any_of(child.children, [&](const ConfigNode& key) { return is_shown(child, key); });
      yaml += child.key + ":" + (opened ? block_map(child, 2) : value(child, child.key.size() + 1, 0));
    }
    if (shared_.empty() || layers_ != nullptr) return yaml;
    std::string defaults;
    for (const ConfigNode& node : shared_)
      if (!is_left_out(node)) defaults += (defaults.empty() ? "" : ", ") + node.key + ": " + flow(node);
    return defaults.empty() ? yaml : "defaults: {" + defaults + "}\n" + yaml;
  }

 private:
  /// The text after `key:` or `-`, with its newline: in one line if it fits, else as a block.
  std::string value(const ConfigNode& node, std::size_t column, std::size_t indent) {
    if (layers_ != nullptr && node.path == kLayersPath) return written_value(*layers_, column, indent);
    const std::string line = flow(node);
    if (column + 1 + line.size() <= kWidth || node.children.empty()) return " " + line + "\n";
    switch (node.setting->kind) {
      case Setting::Kind::list:
        return block_list(node, indent + 2);
      case Setting::Kind::section:
        return block_map(node, indent + 2);
      case Setting::Kind::family: {
        const std::string pad(indent + 2, ' ');
        return "\n" + pad + node.type + ":" + block_map(node, indent + 4);
      }
      default:
        return " " + line + "\n";
    }
  }

  std::string block_map(const ConfigNode& node, std::size_t indent) {
    std::string yaml = "\n";
    for (const ConfigNode& child : node.children)
      if (is_shown(node, child)) {
        const std::string key = yaml_text(child.key);
        yaml += std::string(indent, ' ') + key + ":" + value(child, indent + key.size() + 1, indent);
      }
    return yaml;
  }

  std::string block_list(const ConfigNode& node, std::size_t indent) {
    std::string yaml = "\n";
    for (const ConfigNode& child : node.children) {
      yaml += std::string(indent, ' ') + "-";
      const std::string line = flow(child, false);
      if (indent + 2 + line.size() <= kWidth || child.children.empty())
        yaml += " " + line + "\n";
      else if (child.setting->kind == Setting::Kind::family)
        yaml += " " + child.type + ":" + block_map(child, indent + 4);
      else
        yaml += value(child, indent + 1, indent);
    }
    return yaml;
  }

  /// A layer shows a shared setting only where it differs from the defaults.
  bool is_shown(const ConfigNode& above, const ConfigNode& child) {
    if (!child.present) return false;
    if (above.setting != nullptr && above.setting->family_name == kLayerFamily)
      for (const ConfigNode& node : shared_)
        if (node.key == child.key && is_shared(child)) return flow(node) != flow(child);
    return !is_left_out(child);
  }

  bool is_left_out(const ConfigNode& node) {
    return minimal_ && !node.declared->default_yaml.empty() && flow(node) == default_text(*node.declared);
  }

  const std::string& default_text(const Setting& setting) {
    const auto [place, is_new] = defaults_.try_emplace(&setting);
    if (is_new) {
      ConfigNode node;
      checker_.check_default(setting, node);
      place->second = flow(node);
    }
    return place->second;
  }

  /// A member's map with one key may be the value of its primary setting instead. Empty if it may not.
  std::string primary_value(const ConfigNode& node) {
    const std::string& primary = Catalog::all().at(node.setting->family_name).members.at(node.type).primary;
    const ConfigNode* only = nullptr;
    for (const ConfigNode& child : node.children) {
      if (!is_shown(node, child)) continue;
      if (only != nullptr || child.key != primary) return "";
      only = &child;
    }
    const std::string text = only == nullptr ? "" : flow(*only);
    return text.starts_with("{") ? "" : text;
  }

  static bool is_shared(const ConfigNode& child) {
    const auto& shared = Catalog::all().family(kLayerFamily).shared;
    return std::any_of(shared.begin(), shared.end(), [&](const Setting& s) { return s.name == child.key; });
  }

  std::string flow(const ConfigNode& node, bool braces = true) {
    if (node.awaited.node != nullptr) return checker_.flow_text(node.awaited);
    if (const auto* word = std::get_if<std::string>(&node.value)) return yaml_text(*word);
    if (const auto* truth = std::get_if<bool>(&node.value)) return *truth ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&node.value)) return number_text(*real);
    if (const auto* one = std::get_if<Duration>(&node.value)) return duration_text({*one}, false);
    if (const auto* several = std::get_if<std::vector<Duration>>(&node.value))
      return duration_text(*several, true);
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&node.value)) {
      const bool alike = node.setting->count > 0 && !numbers->empty() &&
                         std::equal(numbers->begin() + 1, numbers->end(), numbers->begin());
      if (alike) return std::to_string(numbers->front());
      std::string list;
      for (const std::int64_t number : *numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
      return "[" + list + "]";
    }
    std::string inner;
    const bool list = node.setting->kind == Setting::Kind::list;
    for (const ConfigNode& child : node.children)
      if (list || is_shown(node, child))
        inner += (inner.empty() ? "" : ", ") + (list ? "" : yaml_text(child.key) + ": ") + flow(child);
    if (list) return "[" + inner + "]";
    if (node.setting->kind != Setting::Kind::family) return "{" + inner + "}";
    if (inner.empty()) return node.type;
    const std::string primary = minimal_ ? primary_value(node) : "";
    const std::string member = node.type + ": " + (primary.empty() ? "{" + inner + "}" : primary);
    return braces ? "{" + member + "}" : member;
  }

  Checker& checker_;
  bool minimal_;
  const Node* layers_;
  std::vector<ConfigNode> shared_;
  std::map<const Setting*, std::string> defaults_;
};

}  // namespace

std::string emitted(const ConfigNode& root, Checker& checker) { return Emitter(checker).whole(root); }

std::string emitted_minimal(const ConfigNode& root, Checker& checker) {
  return Emitter(checker, true).whole(root);
}

std::string emitted_abbreviated(const ConfigNode& root, Checker& checker, const Abbreviations& abbreviations,
                                const Node& layers) {
  return written_abbreviations(abbreviations, layers) + Emitter(checker, true, &layers).whole(root);
}

std::string emitted_value(const ConfigNode& node, Checker& checker) { return Emitter(checker).node(node); }

}  // namespace trainer
