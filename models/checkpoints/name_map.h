#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trainer {

/// Gives tensors of other programs the names of a model: rules of two names, "layer1.0.bn1" and "norm3". A
/// rule fits a name that it equals, or whose first parts between dots it equals; the rest of the name stays:
/// "layer1.0.bn1.weight" becomes "norm3.weight". A `*` stands for any characters but dots, and for the same
/// ones in the second name. The first rule that fits counts; a name that none fits stays as it is.
class NameMap {
 public:
  using Rule = std::pair<std::string, std::string>;  ///< the name in a file, the name in the model

  NameMap() = default;
  /// Error(usage) if a name has no characters or a second name has more `*` than the first.
  explicit NameMap(std::vector<Rule> rules);

  const std::vector<Rule>& rules() const { return rules_; }
  /// The first rule that fits; rules().size() if none does.
  std::size_t rule_of(const std::string& name) const;
  std::string operator()(const std::string& name) const;

 private:
  std::vector<Rule> rules_;
};

}  // namespace trainer
