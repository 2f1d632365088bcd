#pragma once

#include <cstddef>
#include <string>

#include "engine/config/node.h"

namespace trainer {

/// Puts the values of environment variables into the scalars of a text: `${NAME}`, or `${NAME:-fallback}` for
/// one that is unset or empty. `$${` stands for `${`. What comes out is one scalar: a number, a boolean or a
/// text, never a `$name`.
class EnvironmentValues {
 public:
  explicit EnvironmentValues(Mistakes& mistakes) : mistakes_(mistakes) {}
  void insert_into(Node& scalar);

 private:
  Mistakes& mistakes_;
  std::size_t room_ = kMaxBytes;  ///< for values, so that a small text does not grow without limit
};

/// "its value is `x`", for messages about a scalar that is written with variables; empty for others.
std::string value_note(const Node& scalar);

/// The text that insert_into() turns into `text`.
std::string without_variables(const std::string& text);

}  // namespace trainer
