#include "engine/config/config_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "engine/config/checker.h"
#include "engine/config/emit.h"
#include "engine/config/layering.h"
#include "engine/config/yaml_reader.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

constexpr std::size_t kLongestBaseChain = 16;

[[noreturn]] void fail(const Place& place, std::string what, std::vector<std::string> notes = {}) {
  throw Error(ExitCode::usage, {diagnostic_at(place, std::move(what), "", std::move(notes))});
}

std::string without_byte_order_mark(std::string text) {
  if (text.rfind("\xEF\xBB\xBF", 0) == 0) text.erase(0, 3);
  return text;
}

/// Takes a key out of a map, empty when it was not there.
NodeEntry extract(Node& map, std::string_view key) {
  NodeEntry* const found = map.find(key);
  if (found == nullptr) return {};
  NodeEntry entry = std::move(*found);
  map.entries.erase(map.entries.begin() + (found - map.entries.data()));
  return entry;
}

Node abbreviation(Node& root, std::string_view key) {
  NodeEntry entry = extract(root, key);
  if (entry.key.empty()) return {};
  if (entry.value.form == Node::Form::null) entry.value.place = entry.key_place;
  return std::move(entry.value);
}

/// Both without links and dots.
bool is_inside(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const auto [end, differs] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end() && differs != file.end();
}

/// Equal themselves; the values of their children may differ.
bool are_alike(const ConfigNode& one, const ConfigNode& other) {
  return one.present == other.present && one.type == other.type && one.value == other.value &&
         std::ranges::equal(one.children, other.children, {}, &ConfigNode::key, &ConfigNode::key);
}

void find_differences(const ConfigNode& mine, const ConfigNode& other, std::vector<std::string>& paths) {
  if (mine.setting != nullptr && mine.setting->may_change) return;
  if (!are_alike(mine, other)) {
    paths.push_back(mine.path);
    return;
  }
  for (std::size_t i = 0; i < mine.children.size(); ++i)
    find_differences(mine.children[i], other.children[i], paths);
}

}  // namespace

struct ConfigTree::State {
  std::vector<Setting> settings;
  std::vector<std::unique_ptr<SourceText>> texts;
  Mistakes mistakes;
  Node written;
  Abbreviations abbreviations;
  std::unique_ptr<Checker> checker;
  ConfigNode root;
  std::vector<std::string> notes;
  std::filesystem::path folder;  ///< of the file of the command line that is read

  SourceText& keep(SourceText text) {
    return *texts.emplace_back(std::make_unique<SourceText>(std::move(text)));
  }

  Node load_file(const std::string& file, std::string text, SourceText::Origin origin) {
    std::error_code ignored;
    std::vector<std::string> chain{std::filesystem::weakly_canonical(file, ignored).string()};
    folder = std::filesystem::weakly_canonical(std::filesystem::absolute(file).parent_path(), ignored);
    return load(keep({file, without_byte_order_mark(std::move(text)), origin}), chain);
  }

  /// All files of the command line; those below others are like a `base`: they may hold what nothing uses.
  Node load_all(const ConfigSource& source) {
    const auto origin = [&](std::size_t number) {
      return number == source.over.size() ? SourceText::Origin::file : SourceText::Origin::base;
    };
    const std::size_t first = texts.size();
    Node node = load_file(source.file, source.text.empty() ? read_text(source.file) : source.text, origin(0));
    std::string names = source.file;
    for (std::size_t i = 0; i < source.over.size(); ++i) {
      const std::string& file = source.over[i];
      Node over = load_file(file, read_text(file), origin(i + 1));
      if (std::ranges::all_of(settings, [&](const Setting& one) { return over.find(one.name) != nullptr; }))
        notes.push_back(
            escaped(fmt::format("{} is a whole configuration: all its keys change {}", file, names)));
      node = merged(std::move(node), std::move(over), settings);
      names.append(" ").append(file);
    }
    node.place = {source.over.empty() ? texts[first].get() : &keep({names, "", SourceText::Origin::file})};
    return node;
  }

  /// One file with all that its `base:` brings.
  Node load(const SourceText& text, std::vector<std::string>& chain) {
    Node node = parse_yaml(text);
    if (node.form == Node::Form::null)
      fail({&text}, "the file is empty", {"a run takes data, model and train"});
    if (!node.is_map()) {
      fail(node.place, "a configuration is a map of keys, got " + node.form_name(),
           {"known: " + listed(root_names(), ""),
            "`trainer new table FILE` prints a configuration for a table"});
    }
    auto& entries = node.entries;
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const NodeEntry& entry) { return entry.key.rfind("x-", 0) == 0; }),
                  entries.end());
    const NodeEntry base = extract(node, "base");
    if (base.key.empty()) return node;
    if (!base.value.is_scalar() || base.value.text.empty())
      fail(base.value.place, "`base` expects the name of a file, got " + base.value.form_name());
    const std::filesystem::path named = base.value.text;
    const std::string path = (std::filesystem::path(text.name).parent_path() / named).string();
    std::error_code ignored;
    const std::string identity = std::filesystem::weakly_canonical(path, ignored).string();
    if (std::find(chain.begin(), chain.end(), identity) != chain.end())
      fail(base.value.place, in_quotes(base.value.text) + " has this file as its own base");
    if (chain.size() >= kLongestBaseChain)
      fail(base.value.place, "too many files, each the base of the other");
    if (!is_inside(identity, folder))
      fail(base.value.place, in_quotes(base.value.text) + " lies outside the folder of the configuration",
           {"a `base` lies in the folder of the file that is run, or below it"});
    if (std::filesystem::exists(identity, ignored) && !std::filesystem::is_regular_file(identity, ignored))
      fail(base.value.place, in_quotes(base.value.text) + " is not a file");
    chain.push_back(identity);
    const SourceText& below =
        keep({path, without_byte_order_mark(read_text(path, base.value.place)), SourceText::Origin::base});
    return merged(load(below, chain), std::move(node), settings);
  }

  std::vector<std::string> root_names() const {
    std::vector<std::string> names;
    for (const Setting& setting : settings) names.push_back(setting.name);
    for (const char* name : {"vars", "blocks", "defaults", "base"}) names.push_back(name);
    return names;
  }
};

ConfigTree::ConfigTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConfigTree::ConfigTree(ConfigTree&&) noexcept = default;
ConfigTree::~ConfigTree() = default;

ConfigTree::ConfigTree(const ConfigSource& source, const std::vector<Setting>& root)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.settings = root;
  std::vector<SourceText*> overrides;
  for (const std::string& one : source.overrides) {
    overrides.push_back(&state.keep({"-s " + one, one, SourceText::Origin::command_line}));
    check_override(*overrides.back());  // of `-s KEY VALUE`, VALUE is taken for a file
  }
  Node node = state.load_all(source);
  for (SourceText* const one : overrides) {
    std::string note = apply_override(node, *one, state.settings, state.texts);
    if (!note.empty()) state.notes.push_back(escaped(note));
  }
  Abbreviations abbreviations;
  abbreviations.vars = abbreviation(node, "vars");
  abbreviations.blocks = abbreviation(node, "blocks");
  abbreviations.defaults = abbreviation(node, "defaults");
  state.written = std::move(node);
  state.abbreviations = abbreviations;
  state.checker = std::make_unique<Checker>(state.mistakes, std::move(abbreviations));
  state.checker->check_root(state.written, state.settings, state.root);
  state.mistakes.raise();
}

ConfigTree ConfigTree::member(const std::string& family_name, const std::string& yaml) {
  auto state = std::make_unique<State>();
  state->settings.push_back(family("", "", family_name));
  const SourceText& text = state->keep({"<" + family_name + ">", yaml, SourceText::Origin::file});
  state->written = parse_yaml(text);
  state->checker = std::make_unique<Checker>(state->mistakes, Abbreviations{});
  state->checker->check_value(state->settings[0], state->written, state->root);
  state->mistakes.raise();
  return ConfigTree(std::move(state));
}

Config ConfigTree::root() const { return Config(state_->root); }

const std::vector<std::string>& ConfigTree::notes() const { return state_->notes; }

void ConfigTree::define(const std::string& name, const std::string& value) {
  state_->checker->define(name, value, state_->root);
  state_->mistakes.raise();
}

std::vector<std::string> ConfigTree::fixed_differences(const ConfigTree& other) const {
  std::vector<std::string> paths;
  find_differences(state_->root, other.state_->root, paths);
  return paths;
}

std::string ConfigTree::resolved_yaml() const { return emitted(state_->root, *state_->checker); }

std::string ConfigTree::minimal_yaml() const { return emitted_minimal(state_->root, *state_->checker); }

std::string ConfigTree::abbreviated_yaml() const {
  std::string minimal = minimal_yaml();
  const NodeEntry* const model = state_->written.find("model");
  const NodeEntry* const layers = model == nullptr ? nullptr : model->value.find("layers");
  if (layers == nullptr || !layers->value.is_list()) return minimal;
  std::string yaml =
      emitted_abbreviated(state_->root, *state_->checker, state_->abbreviations, layers->value);
  if (yaml.size() >= minimal.size()) return minimal;
  // A name in a text may look like one that is used.
  try {
    const ConfigTree again({.file = "minimal", .text = yaml}, state_->settings);
    return again.resolved_yaml() == resolved_yaml() ? yaml : minimal;
  } catch (const Error&) {
    return minimal;
  }
}

namespace {

/// `nodes`: the same place in each tree.
template <class ValueOf>
void find_differences(const std::vector<const ConfigNode*>& nodes, const ValueOf& value_of,
                      std::vector<ConfigDifference>& found) {
  const ConfigNode& first = *nodes.front();
  if (!std::ranges::all_of(nodes, [&](const ConfigNode* node) { return are_alike(first, *node); })) {
    // The path of a family's value ends with the member that was chosen, and that is what differs.
    const std::string member = "." + first.type;
    const bool has_member = !first.type.empty() && first.path.ends_with(member);
    ConfigDifference difference{
        .path = first.path.substr(0, first.path.size() - (has_member ? member.size() : 0))};
    difference.values.reserve(nodes.size());
    for (std::size_t tree = 0; tree < nodes.size(); ++tree)
      difference.values.push_back(nodes[tree]->present ? value_of(tree, *nodes[tree]) : "");
    found.push_back(std::move(difference));
    return;
  }
  for (std::size_t child = 0; child < first.children.size(); ++child) {
    std::vector<const ConfigNode*> below;
    below.reserve(nodes.size());
    for (const ConfigNode* node : nodes) below.push_back(&node->children[child]);
    find_differences(below, value_of, found);
  }
}

}  // namespace

std::vector<ConfigDifference> differences(const std::vector<ConfigTree>& trees) {
  std::vector<const ConfigNode*> roots;
  roots.reserve(trees.size());
  for (const ConfigTree& tree : trees) roots.push_back(&tree.state_->root);
  std::vector<ConfigDifference> found;
  if (roots.empty()) return found;
  find_differences(
      roots,
      [&](std::size_t tree, const ConfigNode& node) {
        return emitted_value(node, *trees[tree].state_->checker);
      },
      found);
  return found;
}

}  // namespace trainer
