#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/node.h"
#include "engine/config/registry.h"
#include "engine/config/setting.h"

namespace trainer {

/// The family whose lists may hold blocks and `repeat`, and whose shared settings `defaults:` may set.
inline const std::string kLayerFamily = "layer";

using Settings = std::vector<const Setting*>;

Settings pointers(const std::vector<Setting>& settings);
/// What a member's map may hold: its own settings and its family's shared ones.
Settings member_settings(const Catalog::Family& family, const Declaration& member);
const Setting* find_setting(const Settings& settings, std::string_view name);
std::vector<std::string> names_of(const Settings& settings);
/// Today's name of what was called `name`; empty when nothing was.
std::string renamed(std::string_view name, const Settings& settings);
std::string renamed(std::string_view name, const Catalog::Family& family);
/// Where a setting of this name is, but for layers': "train.epochs", "train.schedule.step.factor", or with
/// NAME for the member where several have it; empty when nowhere.
std::string path_of_key(std::string_view name, const std::vector<Setting>& root);
std::vector<std::string> names_of(const Catalog::Family& family);

/// A family's value taken apart: `relu`, or `conv: {...}`.
struct MemberChoice {
  std::string name;  ///< empty when the node has neither form
  Place place;
  const Node* value = nullptr;  ///< what stands behind the name, if anything does
};
MemberChoice member_choice(const Node& node);

/// True when the node has the form of the setting, though its value may still be wrong. A `$name` has the
/// form of every scalar.
bool fits(const Setting& setting, const Node& node);
/// True when `name: node` gives the member's primary setting and not a map of settings.
bool is_primary_value(const Catalog::Family& family, const Declaration& member, const Node& node);
/// The alternative of an either that the node has the form of; null when there is none.
const Setting* alternative(const Setting& either, const Node& node);
/// True for a section with keys of any name, whose values are all of one form: its only key is declared as
/// kAnyKey.
bool has_any_keys(const Setting& section);
inline const std::string kAnyKey = "*";
/// True when `~` may stand for the absence of the setting.
bool can_be_off(const Setting& setting);
/// What a value must look like, for messages: "a number", "{epochs: n} or {steps: n}".
std::string form_words(const Setting& setting);
/// "a layer", "an optimizer"
std::string with_article(const std::string& noun);

}  // namespace trainer
