#pragma once

#include <string>
#include <string_view>

namespace trainer {

/// `text` as a terminal may show it: each control character (C0, DEL, C1) and each byte that is not UTF-8
/// becomes visible: `\n`, `\x1b`, `\u009b`. Everything else stays, backslashes too, so a text that is
/// escaped twice is escaped once.
std::string escaped(std::string_view text);

/// The same for a text of several lines: the newlines stay.
std::string escaped_lines(std::string_view text);

/// A field of a CSV file, in quotes where RFC 4180 requires them.
std::string csv_field(const std::string& text);

}  // namespace trainer
