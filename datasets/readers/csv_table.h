#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/input_form.h"

namespace trainer {

/// How a CSV file is written, and which columns are inputs and targets.
struct CsvForm {
  char separator = ',';
  int header = 1;                    ///< lines above the samples; the last one may name the columns
  std::vector<std::string> targets;  ///< columns by name, or by number from 1
  bool has_labels = true;            ///< targets are labels: empty fields and `nan` are errors
  std::vector<std::string> ignore;   ///< columns to leave out, by name or number
};

/// A CSV file, read whole. Spaces and tabs around a field are no part of it. Strict: an input that is no
/// finite number, a missing label, a line with another number of fields and two columns of one name are
/// Errors(data) with line and column.
struct CsvTable {
  std::string path, fingerprint;
  std::int64_t columns = 0;                 ///< inputs: all but targets and ignored columns
  std::vector<TableColumn> description;     ///< of all columns, in the order of the file
  std::vector<std::size_t> target_columns;  ///< numbers from 1, in the order of CsvForm::targets
  std::vector<float> values;                ///< (rows, columns)
  std::vector<std::string> targets;         ///< (rows, target columns), as they are written
  std::vector<std::int64_t> lines;          ///< of each row in the file, from 1

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
  /// Throws Error(data) that points to a row's line.
  [[noreturn]] void fail(std::int64_t row, const std::string& what, const std::string& expected) const;
};

CsvTable read_csv(const std::string& path, const CsvForm& form);

}  // namespace trainer
