#include "engine/config/written_yaml.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/config/emit.h"

namespace trainer {
namespace {

/// A plain scalar stays one, so that numbers and `$name` mean the same.
std::string scalar_text(const Node& node) {
  if (node.form == Node::Form::null) return "~";
  const bool is_safe = !node.text.empty() && std::ranges::all_of(node.text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./+-$").find(c) != std::string_view::npos;
  });
  return node.plain && is_safe ? node.text : yaml_text(node.text);
}

std::string flow(const Node& node, bool braces = true) {
  if (!node.is_map() && !node.is_list()) return scalar_text(node);
  std::string inner;
  for (const Node& item : node.items) inner += (inner.empty() ? "" : ", ") + flow(item);
  for (const NodeEntry& entry : node.entries)
    inner += (inner.empty() ? "" : ", ") + yaml_text(entry.key) + ": " + flow(entry.value);
  if (node.is_list()) return "[" + inner + "]";
  return braces || inner.empty() ? "{" + inner + "}" : inner;
}

/// The entries of a map, each on lines of its own.
std::string block_map(const Node& node, std::size_t indent) {
  std::string yaml;
  for (const NodeEntry& entry : node.entries) {
    const std::string key = yaml_text(entry.key);
    yaml +=
        std::string(indent, ' ') + key + ":" + written_value(entry.value, indent + key.size() + 1, indent);
  }
  return yaml;
}

std::string block_list(const Node& node, std::size_t indent) {
  std::string yaml;
  for (const Node& item : node.items) {
    const bool is_member = item.is_map() && item.entries.size() == 1;
    const std::string line = flow(item, !is_member);
    yaml += std::string(indent, ' ') + "-";
    if (indent + 2 + line.size() <= kWidth || !is_member)
      yaml += " " + line + "\n";
    else
      yaml += " " + block_map(item, indent + 2).substr(indent + 2);
  }
  return yaml;
}

void collect_words(const Node& node, std::set<std::string>& words) {
  if (node.is_scalar()) words.insert(node.text);
  for (const Node& item : node.items) collect_words(item, words);
  for (const NodeEntry& entry : node.entries) {
    words.insert(entry.key);
    collect_words(entry.value, words);
  }
}

}  // namespace

std::string written_value(const Node& node, std::size_t column, std::size_t indent) {
  const std::string line = flow(node);
  if (column + 1 + line.size() <= kWidth || (node.items.empty() && node.entries.empty()))
    return " " + line + "\n";
  return "\n" + (node.is_list() ? block_list(node, indent + 2) : block_map(node, indent + 2));
}

std::string written_abbreviations(const Abbreviations& all, const Node& layers) {
  std::set<std::string> words;
  collect_words(layers, words);
  collect_words(all.defaults, words);
  Node vars, blocks;
  vars.form = blocks.form = Node::Form::map;
  // What is used may use others.
  for (std::size_t before = 0; before != words.size();) {
    before = words.size();
    for (const NodeEntry& entry : all.vars.entries)
      if (words.contains("$" + entry.key)) collect_words(entry.value, words);
    for (const NodeEntry& entry : all.blocks.entries)
      if (words.contains(entry.key)) collect_words(entry.value, words);
  }
  for (const NodeEntry& entry : all.vars.entries)
    if (words.contains("$" + entry.key)) vars.entries.push_back(entry);
  for (const NodeEntry& entry : all.blocks.entries)
    if (words.contains(entry.key)) blocks.entries.push_back(entry);
  std::string yaml;
  if (!vars.entries.empty()) yaml += "vars:" + written_value(vars, 5, 0);
  if (!blocks.entries.empty()) yaml += "blocks:\n";
  for (const NodeEntry& block : blocks.entries) {
    yaml += "  " + yaml_text(block.key) + ":\n";
    for (const NodeEntry& part : block.value.entries)
      yaml += "    " + part.key + ":" +
              (part.value.is_list() ? "\n" + block_list(part.value, 6) : written_value(part.value, 9, 4));
  }
  if (!all.defaults.entries.empty()) yaml += "defaults:" + written_value(all.defaults, 9, 0);
  return yaml;
}

}  // namespace trainer
