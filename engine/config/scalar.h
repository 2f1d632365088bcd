#pragma once

#include <cstdint>
#include <string>

#include "engine/config/node.h"
#include "engine/config/setting.h"

namespace trainer {

/// Why a text is not the value that was asked for; both empty when it is.
struct Misread {
  std::string what;  ///< "expects a number, got a text"
  std::string hint;  ///< "a letter O, not a zero?"
  explicit operator bool() const { return !what.empty(); }
};

Misread read_boolean(const Node& node, bool& value);
Misread read_integer(const Node& node, std::int64_t& value);
Misread read_real(const Node& node, double& value);
/// "must be above 0, got -1"; empty when the value is inside the setting's range.
std::string out_of_range(const Setting& setting, double value, const std::string& written);
/// The range in words, "at least 1", "from 0 to 1"; empty when there is none.
std::string range_words(const Setting& setting);
/// The shortest text that reads back as the same number.
std::string number_text(double value);

}  // namespace trainer
