#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

/// A column of a table, and what its fields become. Counts and values are those of the training samples.
struct TableColumn {
  enum class Use { input, target, weight, ignored };
  enum class Kind { number, boolean, category };
  std::string name;  ///< empty if the table names no columns
  Use use = Use::input;
  std::string reason{};  ///< why a column is ignored that the configuration does not name; else empty
  // Of inputs only:
  Kind kind = Kind::number;
  bool requires_value = false;  ///< a missing value is an error
  bool has_indicator = false;   ///< of numbers and booleans: a second element is 1 if the value is missing
  float fill = 0;               ///< of numbers and booleans: in the place of a missing value
  std::vector<std::string> categories{};  ///< in the order of their elements
  std::int64_t missing = 0;               ///< fields without a value
  std::int64_t others = 0;                ///< fields with a value that is none of `categories`
};

/// How samples lie in the files of a set, so that other files can be read alike.
struct InputForm {
  bool has_pixels = true;              ///< unsigned bytes of arrays are pixels, in [0, 255]
  double crop = 1;                     ///< of images: side of the centre crop, relative to the largest one
  std::vector<TableColumn> columns{};  ///< of a table, in the order of its file; else empty
  char separator = ',';                ///< of a table
  int header = 1;                      ///< of a table: lines above the samples
  bool channels_first = false;         ///< of arrays of images
  std::string array{};                 ///< of archives: the name of the inputs
};

}  // namespace trainer
