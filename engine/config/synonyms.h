#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/config/setting.h"

namespace trainer {

/// What a user meant by a word that is not known here.
struct Meaning {
  std::string name;  ///< what it is called here; empty if that is not known
  std::string hint;  ///< "`linear` is called `dense` here", "did you mean `units`?", or what to do without it
  bool is_guess = false;  ///< by its spelling

  bool is_certain() const { return !hint.empty() && !is_guess; }
};

/// `kind`: a family ("layer", "loss" ...), "key", "value", "command", "flag" or "choice" of an argument;
/// `names`: what is known in this place. Finds, in this order: a name that differs in case, `_` and `-`
/// alone, what other programs call so, the nearest spelling.
Meaning meaning_of(std::string_view kind, std::string_view word, const std::vector<std::string>& names);

/// The path of the key that `word` means elsewhere in the configuration, as path_of_key(); empty when
/// nowhere.
std::string path_of_meant_key(std::string_view word, const std::vector<Setting>& root);

/// The table, for tests: words of other programs without case, `_` and `-`.
struct Synonyms {
  std::string_view kind;
  std::string_view name;   ///< here
  std::string_view words;  ///< separated by spaces
};
const std::vector<Synonyms>& synonyms();

}  // namespace trainer
