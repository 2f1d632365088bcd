#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/config/config_node.h"
#include "engine/config/declared.h"

namespace trainer {

/// What `$x` means among the layers of one use of a block, and what that use gives to all of them. The
/// outermost scope has neither.
struct Scope {
  struct Shared {
    Place key_place;
    Written value;
  };

  const Scope* caller = nullptr;
  std::string block;
  std::map<std::string, Written> args;
  std::map<std::string, Shared> shared;  ///< defaults for layers without the key (`init`)
  std::string name;
  const Node* name_source = nullptr;
  int number = 0;  ///< this use among those that the same `name:` serves, from 1
};

/// The sections of a file that its other sections draw on.
struct Abbreviations {
  Node vars, blocks, defaults;
};

/// Follows `$x`, unrolls blocks and `repeat`, and looks up `defaults:`, without copying what was written.
class Expansion {
 public:
  struct Resolved {
    Written value;        ///< node is null after a mistake
    std::string awaited;  ///< "classes" when only the data decides it
  };

  Expansion(Abbreviations abbreviations, Mistakes& mistakes);

  const Scope* outermost() const { return &outermost_; }
  /// `nearest`: where a mistake in a default is reported.
  Resolved resolve(Written value, const Place& nearest = {});
  /// The layers that one entry of a list of layers stands for.
  void unroll(Written entry, std::vector<Written>& layers);
  /// Where the setting of a layer comes from when the layer itself does not give it.
  const NodeEntry* default_for(const std::string& layer, const Setting& setting, bool shared) const;
  const Node& defaults() const { return abbreviations_.defaults; }
  bool is_block(const std::string& name) const { return blocks_.contains(name); }
  std::vector<std::string> block_names() const;

  void define(const std::string& name, const std::string& value);
  /// Counts one more resolved node; throws when there are too many.
  void spend(const Place& at);
  /// Which use of a `name:` this is, from 1, and how many there were in the end; a block that has a name
  /// itself counts for itself.
  int number_of(const Node* name_source, const Scope* scope) { return ++uses_[{name_source, named(scope)}]; }
  int uses(const Node* name_source, const Scope* scope) const;
  /// Variables, blocks and arguments that nothing used.
  void report_unused();

 private:
  /// One use of a block.
  struct Use {
    Scope scope;
    std::int64_t count = 1;           ///< its `repeat`
    std::set<std::string> suggested;  ///< arguments that messages about unknown keys propose
  };

  static const Scope* named(const Scope* scope);
  using Index = std::unordered_map<std::string_view, const NodeEntry*>;

  static Index index_of(const Node& map);
  void check_blocks();
  void unroll_block(const NodeEntry& block, Written entry, const MemberChoice& choice,
                    std::vector<Written>& layers);
  /// Reads what one use gives to its block; false after a mistake that leaves nothing to unroll.
  bool read_use(const NodeEntry& block, const MemberChoice& choice, Use& use);
  void read_setting(const Node& args, const NodeEntry& setting, const Scope* scope, Use& use);
  std::int64_t repeat_of(Written value);

  Abbreviations abbreviations_;
  Index vars_, blocks_;
  Mistakes& mistakes_;
  Scope outermost_;
  std::deque<Scope> scopes_;
  std::map<std::string, std::unique_ptr<std::pair<SourceText, Node>>> definitions_;
  std::set<std::string> used_vars_, used_blocks_, broken_blocks_;
  std::set<std::pair<std::string, std::string>> used_args_;
  std::map<std::pair<const Node*, const Scope*>, int> uses_;
  std::size_t spent_ = 0;
};

}  // namespace trainer
