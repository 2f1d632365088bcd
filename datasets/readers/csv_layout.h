#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainer {

/// How the text of a table is written.
struct CsvLayout {
  char separator = ',';
  int header = 1;  ///< lines above the samples; the last one may name the columns
};

/// Recognises what is not given by the first records. The separator is the one of comma, semicolon and tab
/// that gives records of most fields, all alike. A header is one line whose field is no number above a column
/// of numbers, or a line above texts alone that they do not repeat; titles may stand above it. Error(data)
/// with `path` and line if the records are damaged.
CsvLayout csv_layout(const std::string& path, std::string_view text, std::optional<char> separator,
                     std::optional<int> header);

}  // namespace trainer
