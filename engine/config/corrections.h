#pragma once

#include <string>

#include "engine/config/declared.h"

namespace trainer {

// Values in a wrong form, written in the right one: hints of messages, empty where none fits.

/// "write `sgd: {lr: 0.1}`" for `sgd: 0.1`.
std::string corrected_member(const Declaration& member, const Node& value);

/// "write `sgd: {lr: 0.1}`" for a family's value of the form `{type: sgd, lr: 0.1}`.
std::string corrected_choice(const Setting& family_setting, const Node& node);

/// "write `data: {dataset: mnist}`" for `data: mnist`; "write `{epochs: 5}`" for `evaluate: 5`.
std::string corrected_section(const Setting& section, const Node& value);

/// For an unknown key that is a member: "`adam` is an optimizer: write `optimizer: adam`".
std::string member_as_key(const std::string& key, const Settings& settings);

/// For `{lr: 0,05}`, which YAML reads as the keys lr and 05.
std::string corrected_comma(const std::string& key, const Node* value_before, const Setting* setting_before);

}  // namespace trainer
