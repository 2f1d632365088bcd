#include "engine/config/expansion.h"

#include <algorithm>

#include "engine/config/scalar.h"

namespace trainer {
namespace {

constexpr int kLongestChain = 32;  // of $x that stand for $y
constexpr std::int64_t kMaxRepeats = 10'000;

const std::vector<std::string>& awaited_names() {
  static const std::vector<std::string> names{"classes", "vocab"};
  return names;
}

std::vector<std::string> keys_of(const Node& map) {
  std::vector<std::string> keys;
  for (const NodeEntry& entry : map.entries) keys.push_back(entry.key);
  return keys;
}

const Node* value_of(const Node& map, std::string_view key) {
  const NodeEntry* entry = map.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Node& args_of(const Node& block) {
  static const Node none;
  const Node* args = value_of(block, "args");
  return args == nullptr ? none : *args;
}

bool written_for_this_run(const Place& place) {
  return place.source != nullptr && (place.source->origin == SourceText::Origin::file ||
                                     place.source->origin == SourceText::Origin::command_line);
}

/// The settings of a block that are not its arguments.
std::vector<std::string> reserved_names() {
  std::vector<std::string> names{"repeat", "name"};
  for (const Setting& setting : Catalog::all().family(kLayerFamily).shared)
    if (setting.name != "name") names.push_back(setting.name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Expansion::Expansion(Abbreviations abbreviations, Mistakes& mistakes)
    : abbreviations_(std::move(abbreviations)), mistakes_(mistakes) {
  const auto expect_map = [&](Node& node, const std::string& name) {
    if (node.is_map() || !node.place) return;
    mistakes_.add(node.place, "`" + name + "` expects a map, got " + node.form_name());
    node = {};
  };
  expect_map(abbreviations_.vars, "vars");
  expect_map(abbreviations_.blocks, "blocks");
  expect_map(abbreviations_.defaults, "defaults");
  check_blocks();
  vars_ = index_of(abbreviations_.vars);
  blocks_ = index_of(abbreviations_.blocks);
}

Expansion::Index Expansion::index_of(const Node& map) {
  Index index;
  for (const NodeEntry& entry : map.entries) index.emplace(entry.key, &entry);
  return index;
}

void Expansion::check_blocks() {
  const auto& layers = Catalog::all().family(kLayerFamily).members;
  const std::vector<std::string> reserved = reserved_names();
  const std::vector<std::string> known{"args", "layers"};
  std::vector<NodeEntry> sound;
  for (NodeEntry& block : abbreviations_.blocks.entries) {
    const std::size_t mistakes_before = mistakes_.count();
    if (layers.count(block.key) > 0)
      mistakes_.add(block.key_place, "block " + in_quotes(block.key) + " has the name of a layer");
    if (!block.value.is_map()) {
      mistakes_.add(block.key_place,
                    "block " + in_quotes(block.key) + " expects `layers`, got " + block.value.form_name());
      broken_blocks_.insert(block.key);
      continue;
    }
    for (const NodeEntry& entry : block.value.entries) {
      if (!contains(known, entry.key))
        mistakes_.add(entry.key_place, "unknown key " + in_quotes(entry.key) + " in block " + block.key,
                      suggestion(entry.key, known), {"a block takes args and layers"});
    }
    const Node* args = value_of(block.value, "args");
    if (args != nullptr && !args->is_map())
      mistakes_.add(args->place, "`args` expects a map, got " + args->form_name());
    if (args != nullptr)
      for (const NodeEntry& arg : args->entries)
        if (contains(reserved, arg.key))
          mistakes_.add(arg.key_place, "argument " + in_quotes(arg.key) + " has a reserved name", "",
                        {"every block takes " + listed(reserved)});
    const Node* body = value_of(block.value, "layers");
    if (body == nullptr)
      mistakes_.add(block.key_place, "missing key `layers` in block " + block.key);
    else if (!body->is_list())
      mistakes_.add(body->place, "`layers` expects a list, got " + body->form_name());
    if (mistakes_.count() == mistakes_before)
      sound.push_back(std::move(block));
    else
      broken_blocks_.insert(block.key);
  }
  abbreviations_.blocks.entries = std::move(sound);
}

Expansion::Resolved Expansion::resolve(Written value, const Place& nearest) {
  for (int i = 0; i < kLongestChain; ++i) {
    if (!value.node->is_reference()) return {value, ""};
    const std::string name = value.node->text.substr(1);
    if (const auto arg = value.scope->args.find(name); arg != value.scope->args.end()) {
      used_args_.insert({value.scope->block, name});
      value = arg->second;
    } else if (const auto var = vars_.find(name); var != vars_.end()) {
      used_vars_.insert(name);
      value = {&var->second->value, &outermost_};
    } else if (const auto known = definitions_.find(name); known != definitions_.end()) {
      if (known->second == nullptr) {
        const Place& place = value.node->place;
        mistakes_.add(place.source->origin == SourceText::Origin::builtin ? nearest : place,
                      "the data gives no `$" + name + "`", "", {},
                      name == "vocab" ? "`$vocab` is the number of tokens of a text"
                                      : "`$" + name + "` counts classes; for values write a number");
        return {};
      }
      value = {&known->second->second, &outermost_};
    } else if (contains(awaited_names(), name)) {
      return {value, name};
    } else {
      std::vector<std::string> names = keys_of(abbreviations_.vars);
      for (const auto& [arg_name, arg_value] : value.scope->args) names.push_back(arg_name);
      names.insert(names.end(), awaited_names().begin(), awaited_names().end());
      mistakes_.add(value.node->place, "unknown name " + in_quotes(value.node->text),
                    suggestion(name, names, "$"),
                    {"a name is an argument of the block, an entry of `vars`, $classes or $vocab"});
      return {};
    }
  }
  mistakes_.add(value.node->place, in_quotes(value.node->text) + " stands for itself");
  return {};
}

void Expansion::unroll(Written entry, std::vector<Written>& layers) {
  const Resolved resolved = resolve(entry);
  if (resolved.value.node == nullptr) return;
  const MemberChoice choice = member_choice(*resolved.value.node);
  if (broken_blocks_.count(choice.name) > 0) return;  // that mistake is known
  if (const auto block = blocks_.find(choice.name); block != blocks_.end()) {
    unroll_block(*block->second, resolved.value, choice, layers);
    return;
  }
  std::int64_t count = 1;
  if (choice.value != nullptr) {
    const Resolved settings = resolve({choice.value, resolved.value.scope});
    if (settings.value.node != nullptr)
      if (const Node* repeat = value_of(*settings.value.node, "repeat"))
        count = repeat_of({repeat, settings.value.scope});
  }
  for (std::int64_t i = 0; i < count; ++i) {
    spend(resolved.value.node->place);
    layers.push_back(resolved.value);
  }
}

std::int64_t Expansion::repeat_of(Written value) {
  const Resolved resolved = resolve(value);
  if (resolved.value.node == nullptr) return 1;
  const Node& node = *resolved.value.node;
  std::int64_t count = 1;
  if (Misread misread = read_integer(node, count))
    mistakes_.add(node.place, "`repeat` " + misread.what, misread.hint);
  else if (count < 1 || count > kMaxRepeats)
    mistakes_.add(node.place, "`repeat` must be from 1 to " + std::to_string(kMaxRepeats) + ", got " +
                                  std::to_string(count));
  else
    return count;
  return 1;
}

void Expansion::unroll_block(const NodeEntry& block, Written entry, const MemberChoice& choice,
                             std::vector<Written>& layers) {
  used_blocks_.insert(block.key);
  std::size_t depth = 0;
  for (const Scope* scope = entry.scope; scope != nullptr; scope = scope->caller) {
    if (scope->block == block.key) {
      mistakes_.add(choice.place, "block " + in_quotes(block.key) + " contains itself");
      return;
    }
    if (++depth > kDeepestNode) {
      mistakes_.add(choice.place, "blocks nested deeper than " + std::to_string(kDeepestNode) + " levels");
      return;
    }
  }
  Use use;
  use.scope.caller = entry.scope;
  use.scope.block = block.key;
  if (!read_use(block, choice, use)) return;
  for (std::int64_t i = 0; i < use.count; ++i) {
    spend(choice.place);
    if (use.scope.name_source != nullptr)
      use.scope.number = number_of(use.scope.name_source, use.scope.caller);
    const Scope* scope = &scopes_.emplace_back(use.scope);
    for (const Node& layer : value_of(block.value, "layers")->items) unroll({&layer, scope}, layers);
  }
}

bool Expansion::read_use(const NodeEntry& block, const MemberChoice& choice, Use& use) {
  const Node& args = args_of(block.value);
  auto& values = use.scope.args;
  for (const NodeEntry& arg : args.entries) values[arg.key] = {&arg.value, &outermost_};
  if (choice.value != nullptr) {
    const Written given = resolve({choice.value, use.scope.caller}).value;
    if (given.node == nullptr) return false;
    if (given.node->form == Node::Form::null) {
      mistakes_.add(choice.place, in_quotes(block.key) + " has no value", "write `" + block.key + "`");
      return false;
    }
    if (!given.node->is_map() && args.entries.size() == 1) {
      values[args.entries[0].key] = given;
    } else if (!given.node->is_map()) {
      mistakes_.add(given.node->place,
                    in_quotes(block.key) + " expects a map of its arguments, got " + given.node->form_name());
      return false;
    }
    for (const NodeEntry& setting : given.node->entries) read_setting(args, setting, given.scope, use);
  }
  for (const NodeEntry& arg : args.entries) {
    if (values[arg.key].node->form != Node::Form::null) continue;
    if (use.suggested.count(arg.key) == 0)
      mistakes_.add(choice.place, "missing key " + in_quotes(arg.key) + " in " + block.key);
    return false;
  }
  return true;
}

void Expansion::read_setting(const Node& args, const NodeEntry& setting, const Scope* scope, Use& use) {
  const std::vector<std::string> reserved = reserved_names();
  const Written value{&setting.value, scope};
  if (setting.key == "repeat") {
    use.count = repeat_of(value);
  } else if (setting.key == "name") {
    const Written name = resolve(value).value;
    if (name.node != nullptr && !name.node->is_scalar())
      mistakes_.add(name.node->place, "`name` expects a text, got " + name.node->form_name());
    else if (name.node != nullptr) {
      use.scope.name = name.node->text;
      use.scope.name_source = name.node;
    }
  } else if (contains(reserved, setting.key)) {
    use.scope.shared[setting.key] = {setting.key_place, value};
  } else if (args.find(setting.key) != nullptr) {
    use.scope.args[setting.key] = value;
  } else {
    std::vector<std::string> names = keys_of(args);
    names.insert(names.end(), reserved.begin(), reserved.end());
    use.suggested.insert(nearest(setting.key, names));
    mistakes_.add(setting.key_place, "unknown key " + in_quotes(setting.key) + " in " + use.scope.block,
                  suggestion(setting.key, names), {use.scope.block + " takes " + listed(names, "")});
  }
}

const NodeEntry* Expansion::default_for(const std::string& layer, const Setting& setting, bool shared) const {
  const NodeEntry* of_type = abbreviations_.defaults.find(layer);
  if (of_type != nullptr)
    if (const NodeEntry* entry = of_type->value.find(setting.name)) return entry;
  return shared ? abbreviations_.defaults.find(setting.name) : nullptr;
}

std::vector<std::string> Expansion::block_names() const { return keys_of(abbreviations_.blocks); }

void Expansion::define(const std::string& name, const std::string& value) {
  if (value.empty()) {
    definitions_[name] = nullptr;
    return;
  }
  auto& made = definitions_[name] = std::make_unique<std::pair<SourceText, Node>>();
  made->first = {"$" + name, value, SourceText::Origin::builtin};
  made->second.form = Node::Form::scalar;
  made->second.text = value;
  made->second.place = {&made->first};
}

void Expansion::spend(const Place& at) {
  if (++spent_ <= kMaxNodes) return;
  mistakes_.add(at, "more than " + std::to_string(kMaxNodes) + " values after blocks and repeats");
  mistakes_.raise();
}

const Scope* Expansion::named(const Scope* scope) {
  while (scope != nullptr && scope->name_source == nullptr) scope = scope->caller;
  return scope;
}

int Expansion::uses(const Node* name_source, const Scope* scope) const {
  const auto found = uses_.find({name_source, named(scope)});
  return found == uses_.end() ? 0 : found->second;
}

void Expansion::report_unused() {
  for (const NodeEntry& var : abbreviations_.vars.entries)
    if (written_for_this_run(var.key_place) && used_vars_.count(var.key) == 0) {
      mistakes_.add(var.key_place, "nothing uses the variable " + in_quotes(var.key),
                    suggestion(var.key, {used_vars_.begin(), used_vars_.end()}));
    }
  for (const NodeEntry& block : abbreviations_.blocks.entries) {
    if (used_blocks_.count(block.key) == 0) {
      if (written_for_this_run(block.key_place))
        mistakes_.add(block.key_place, "nothing uses the block " + in_quotes(block.key));
      continue;
    }
    for (const NodeEntry& arg : args_of(block.value).entries)
      if (written_for_this_run(arg.key_place) && used_args_.count({block.key, arg.key}) == 0)
        mistakes_.add(arg.key_place,
                      "block " + in_quotes(block.key) + " does not use its argument " + in_quotes(arg.key));
  }
}

}  // namespace trainer
