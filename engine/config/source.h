#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"

namespace trainer {

/// A text that settings come from, kept to quote its lines in messages.
struct SourceText {
  enum class Origin { file, base, command_line, builtin };
  std::string name;  ///< the path as given, or "-s train.epochs=1"
  std::string text;
  Origin origin = Origin::file;
  std::string remark = {};  ///< what messages about something missing add: "it replaces `relu`, a.yaml:9:7"
};

/// Where a key or a value was written; without a source it is a default.
struct Place {
  static constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

  const SourceText* source = nullptr;
  std::size_t offset = kWhole;  ///< byte of source->text; kWhole means the text as a whole
  std::size_t length = 0;       ///< bytes to underline

  explicit operator bool() const {
    return source != nullptr && source->origin != SourceText::Origin::builtin;
  }
  /// "a.yaml:11:14", "-s train.epochs=1" or empty.
  std::string text() const;
  /// The source line and a caret line that ends with `hint`; empty where there is no line to show.
  std::string excerpt(const std::string& hint = "") const;
  bool before(const Place& other) const;
};

/// Text from a user as messages show it: in backquotes, without control characters, cut when long.
std::string in_quotes(std::string_view text);
/// "a, b and c"; cut after a good number of names.
std::string listed(const std::vector<std::string>& names, const std::string& last = "and");
/// The name that `word` was meant to be, by its letters or its beginning; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);
/// "did you mean `name`?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& names,
                       const std::string& prefix = "");

/// One diagnostic at a place: the hint goes beside the caret or, without a line to show, becomes the help.
Diagnostic diagnostic_at(const Place& place, std::string what, const std::string& hint = "",
                         std::vector<std::string> notes = {}, std::string help = "");

/// Collects a user's mistakes so that all are reported at once.
class Mistakes {
 public:
  void add(const Place& place, std::string what, const std::string& hint = "",
           std::vector<std::string> notes = {}, std::string help = "");
  bool any() const { return !found_.empty(); }
  std::size_t count() const { return found_.size(); }
  /// Throws Error(usage) with all of them in the order of the text, if there are any.
  void raise();

 private:
  struct Mistake {
    Place place;
    Diagnostic diagnostic;
  };
  std::vector<Mistake> found_;
  std::size_t left_out_ = 0;
};

}  // namespace trainer
