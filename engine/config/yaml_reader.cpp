#include "engine/config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <unordered_set>

#include "engine/config/environment.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

[[noreturn]] void fail(const Place& place, std::string what, const std::string& hint = "",
                       std::string help = "") {
  throw Error(ExitCode::usage, {diagnostic_at(place, std::move(what), hint, {}, std::move(help))});
}

bool is_text(std::string_view text) {
  const auto binary = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && !std::strchr("\t\n\r", c);
  };
  return text.find('\0') == std::string_view::npos && std::none_of(text.begin(), text.end(), binary) &&
         is_utf8(text);
}

/// The line that begins at `begin`, without its comment and the blanks at its end.
std::string_view bare_line(std::string_view text, std::size_t begin) {
  std::string_view line = text.substr(begin, text.substr(begin).find('\n'));
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || std::strchr(" \t", line[i - 1]))) line = line.substr(0, i);
  const std::size_t end = line.find_last_not_of(" \t\r");
  return line.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

/// "" when the line may well be a key, an entry or the end of something.
std::string mistake_in_line(std::string_view line, const std::string& which) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  if (line.substr(0, first).find('\t') != std::string_view::npos)
    return which + " is indented by a tab; YAML expects spaces";
  const std::string_view content = line.substr(first);
  const bool is_key = content.back() == ':' || content.find(": ") != std::string_view::npos;
  if (is_key || std::strchr("-{}[]\"'&*", content.front())) return "";
  return which + (content.find(':') == std::string_view::npos
                      ? " has no colon: `key: value`"
                      : " expects a space after its colon: `key: value`");
}

/// The probable cause of invalid YAML at `offset`, where the parser gave up: at times one line too late.
std::string likely_cause(std::string_view text, std::size_t offset, std::string_view parser_message) {
  const auto begin_of_line = [&](std::size_t at) {
    const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    return newline == std::string_view::npos ? std::size_t{0} : newline + 1;
  };
  std::size_t begin = begin_of_line(std::min(offset, text.size()));
  if (std::string help = mistake_in_line(bare_line(text, begin), "this line"); !help.empty()) return help;
  while (begin > 0) {
    begin = begin_of_line(begin - 1);
    const std::string_view before = bare_line(text, begin);
    if (before.empty()) continue;
    if (std::string help = mistake_in_line(before, "the line before"); !help.empty()) return help;
    break;
  }
  if (parser_message.find("flow") != std::string_view::npos)
    return "a `{` or `[` above is not closed, or a comma is missing";
  if (parser_message == "end of map not found" || parser_message == "end of sequence not found")
    return "keys that belong together are indented alike";
  if (parser_message == "the referenced anchor is not defined")
    return "a text that begins with `*` is written in quotes";
  return "";
}

/// yaml-cpp ends a quoted text at the end of the file, too.
bool is_closed(std::string_view text, std::size_t quote) {
  for (std::size_t i = quote + 1; i < text.size(); ++i) {
    const bool escapes = text[quote] == '"' ? text[i] == '\\' : text.substr(i).starts_with("''");
    if (escapes)
      ++i;
    else if (text[i] == text[quote])
      return true;
  }
  return false;
}

/// Builds our nodes from yaml-cpp's events and watches size and depth while it does.
class NodeBuilder final : public YAML::EventHandler {
 public:
  explicit NodeBuilder(const SourceText& source) : source_(source) {}

  /// Throws Error(usage) if variables of the environment are missing.
  Node take() {
    mistakes_.raise();
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = place(mark, 0);
    if (const std::string_view word = word_at(node.place.offset); is_null(word)) node.text = word;
    add(std::move(node), anchor, {1, 1});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node;
    node.form = Node::Form::scalar;
    node.plain = tag != "!";
    node.text = value;
    node.place = place(mark, value.size());
    const std::string_view begin = std::string_view(source_.text).substr(node.place.offset, 1);
    if (!node.plain && (begin == "\"" || begin == "'") && !is_closed(source_.text, node.place.offset))
      fail({&source_, node.place.offset, 1}, "not valid YAML: end of quoted text not found",
           "this quote is not closed");
    const bool is_key = !open_.empty() && !open_.back().node.is_list() && open_.back().key_next;
    if (!is_key && source_.origin != SourceText::Origin::builtin) environment_.insert_into(node);
    add(std::move(node), anchor, {1, 1});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(place(mark, 1), "an anchor's value contains itself");
    // Looked at before the copy is made: nine lines of aliases can stand for 10^9 nodes.
    const Size size = found->second.size;
    if (nodes_ + size.nodes > kMaxNodes) too_many(mark);
    if (open_.size() + size.depth > kDeepestNode) too_deep(mark);
    Node copy = found->second.node;
    copy.place = place(mark, 1);
    add(std::move(copy), 0, size);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Form::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Form::map);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override {
    merge(open_.back().node);
    close();
  }

 private:
  struct Size {
    std::size_t nodes = 0, depth = 0;
  };
  struct Anchor {
    Node node;
    Size size;
  };
  /// A list or map whose end has not been seen.
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    Size size{1, 1};
    bool key_next = true;
    std::unordered_set<std::string> keys;
  };

  Place place(const YAML::Mark& mark, std::size_t length) const {
    const std::string& text = source_.text;
    std::size_t offset = std::min(text.size(), static_cast<std::size_t>(std::max(0, mark.pos)));
    // A node's own mark is that of its anchor, when it has one.
    if (offset < text.size() && text[offset] == '&') {
      while (offset < text.size() && !std::strchr(" \t\r\n", text[offset])) ++offset;
      while (offset < text.size() && std::strchr(" \t\r\n", text[offset])) ++offset;
    }
    if (offset < text.size() && (text[offset] == '"' || text[offset] == '\'')) {
      const std::size_t end = text.find(text[offset], offset + 1);
      if (end != std::string::npos) length = end + 1 - offset;
    } else if (offset < text.size() && text[offset] == '*') {
      const std::size_t end = text.find_first_of(" \t\r\n,]}", offset);
      length = std::min(end, text.size()) - offset;
    }
    return {&source_, offset, length};
  }

  std::string_view word_at(std::size_t offset) const {
    const std::string_view rest = std::string_view(source_.text).substr(offset);
    return rest.substr(0, rest.find_first_of(" \t\r\n,]}#:"));
  }
  static bool is_null(std::string_view word) {
    return word == "~" || word == "null" || word == "Null" || word == "NULL";
  }

  [[noreturn]] void too_many(const YAML::Mark& mark) const {
    fail(place(mark, 1), "more than " + std::to_string(kMaxNodes) + " values, counting what aliases repeat");
  }
  [[noreturn]] void too_deep(const YAML::Mark& mark) const {
    fail(place(mark, 1), "nested deeper than " + std::to_string(kDeepestNode) + " levels");
  }

  // yaml-cpp gives "?" to plain scalars and "!" to quoted ones.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") fail(place(mark, 1), "YAML tags are not used here");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Form form) {
    refuse_tag(mark, tag);
    if (open_.size() >= kDeepestNode) too_deep(mark);
    Open opened;
    opened.node.form = form;
    opened.node.place = place(mark, 1);
    opened.anchor = anchor;
    open_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    nodes_ -= closed.size.nodes - 1;  // counted again by add()
    add(std::move(closed.node), closed.anchor, closed.size);
  }

  void add(Node node, YAML::anchor_t anchor, Size size) {
    nodes_ += size.nodes;
    if (nodes_ > kMaxNodes) {
      fail(node.place, "more than " + std::to_string(kMaxNodes) + " values, counting what aliases repeat");
    }
    if (anchor != 0) {
      anchor_nodes_ += size.nodes;
      if (anchor_nodes_ > kMaxNodes) fail(node.place, "anchors within anchors hold too many values");
      anchors_[anchor] = {node, size};
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    parent.size.nodes += size.nodes;
    parent.size.depth = std::max(parent.size.depth, size.depth + 1);
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.key_next) {
      add_key(parent, std::move(node));
    } else {
      NodeEntry& entry = parent.node.entries.back();
      if (node.form == Node::Form::null) node.place = entry.key_place;
      entry.value = std::move(node);
      parent.key_next = true;
    }
  }

  void add_key(Open& parent, Node key) {
    if (!key.is_scalar()) fail(key.place, "a key must be a text, got " + key.form_name());
    if (!parent.keys.insert(key.text).second) {
      const NodeEntry* first = parent.node.find(key.text);
      fail(key.place, "duplicate key " + in_quotes(key.text), "first at " + first->key_place.text());
    }
    parent.node.entries.push_back({std::move(key.text), key.place, {}});
    if (parent.node.entries.size() == 1 && parent.node.place.length <= 1 && !is_flow(parent.node.place))
      parent.node.place = parent.node.entries[0].key_place;
    parent.key_next = false;
  }

  bool is_flow(const Place& at) const {
    return at.offset < source_.text.size() && source_.text[at.offset] == '{';
  }

  /// `<<: *other` or `<<: [*one, *two]`: own keys win, then the earlier map.
  void merge(Node& map) {
    NodeEntry* const marker = map.find("<<");
    if (marker == nullptr) return;
    const Place where = marker->key_place;
    Node merged = std::move(marker->value);
    map.entries.erase(map.entries.begin() + (marker - map.entries.data()));
    std::vector<Node> maps;
    if (merged.is_list())
      maps = std::move(merged.items);
    else
      maps.push_back(std::move(merged));
    std::unordered_set<std::string>& keys = open_.back().keys;
    keys.erase("<<");
    for (Node& one : maps) {
      if (!one.is_map()) fail(where, "`<<` expects a map or a list of maps, got " + one.form_name());
      for (NodeEntry& entry : one.entries)
        if (keys.insert(entry.key).second) map.entries.push_back(std::move(entry));
    }
  }

  const SourceText& source_;
  Mistakes mistakes_;
  EnvironmentValues environment_{mistakes_};
  Node root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchor> anchors_;
  std::size_t nodes_ = 0, anchor_nodes_ = 0;
};

/// "did you mean `my.yaml`?" for a file, or the directory of a run, that does not exist.
std::string help_for_absent(const std::filesystem::path& path) {
  const auto is_yaml = [](const std::filesystem::path& file) {
    return file.extension() == ".yaml" || file.extension() == ".yml";
  };
  std::vector<std::string> names;
  std::error_code ignored;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end;
       entry.increment(ignored))
    if (is_yaml(entry->path()) || entry->is_directory(ignored))
      names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  const std::string near = nearest(path.filename().string(), names);
  if (!near.empty()) return "did you mean " + in_quotes((path.parent_path() / near).string()) + "?";
  return is_yaml(path) ? "`trainer new mlp` prints a configuration to start from"
                       : "a YAML file, or the directory of a run";
}

}  // namespace

std::string read_text(const std::string& path, const Place& named_at) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::filesystem::path of_run = std::filesystem::path(path) / "config.yaml";
    fail(named_at, in_quotes(path) + " is a directory", "",
         std::filesystem::exists(of_run, ignored) ? "a run's configuration is " + of_run.string()
                                                  : "a YAML file");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int problem = errno;
    fail(named_at, "cannot read " + in_quotes(path) + ": " + std::strerror(problem), "",
         problem == ENOENT ? help_for_absent(path) : "");
  }
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail(named_at, "cannot read " + in_quotes(path) + ": " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Node parse_yaml(const SourceText& source) {
  const Place whole{&source};
  if (source.text.size() > kMaxBytes)
    fail(whole, "too large for a configuration: more than " + std::to_string(kMaxBytes) + " bytes");
  if (!is_text(source.text)) fail(whole, "not a text file", "", "a configuration is YAML in UTF-8");
  NodeBuilder builder(source);
  try {
    std::istringstream stream(source.text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {.place = whole};
    Node root = builder.take();
    NodeBuilder second(source);
    if (parser.HandleNextDocument(second))
      fail(whole, "more than one YAML document", "",
           "one document, without `---` between its parts; for a table, `trainer new table FILE` prints one");
    return root;
  } catch (const YAML::Exception& error) {
    const std::size_t offset =
        std::min(source.text.size(), static_cast<std::size_t>(std::max(0, error.mark.pos)));
    fail({&source, offset, 1}, "not valid YAML: " + error.msg, "",
         likely_cause(source.text, offset, error.msg));
  }
}

}  // namespace trainer
