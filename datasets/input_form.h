#pragma once

#include <string>
#include <vector>

namespace trainer {

/// A column of a table.
struct TableColumn {
  enum class Use { input, target, ignored };
  std::string name;  ///< empty if the table names no columns
  Use use = Use::input;
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
