#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

/// What a table is likely to be trained for.
struct TableTarget {
  std::string column;                ///< its name, or its number from 1 if it has none of its own
  bool is_named = false;             ///< by a word such as `target`; else its place is the reason
  bool has_numbers = false;          ///< a regression; else classes
  std::int64_t classes = 0;          ///< that were seen
  std::vector<std::string> columns;  ///< all, as `column`
  std::vector<std::string> ignored;  ///< columns that only count the rows
};

/// Looks at the first rows of a table. The target is the column with a name such as `target` or `label`,
/// else the last one, of those without missing values that are numbers or have few different texts. Whole
/// numbers of few values are classes. Error(data) if no column can be a target, or the file cannot be read.
TableTarget table_target(const std::string& path);

}  // namespace trainer
