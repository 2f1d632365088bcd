#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "datasets/readers/csv_columns.h"
#include "datasets/readers/table_features.h"

namespace trainer {

/// The fields of an input column.
struct CsvInput {
  std::size_t column = 0;             ///< from 0
  bool is_text = false;               ///< all that is not missing is in `texts`, numbers too
  bool must_be_number = false;        ///< by CsvForm::numbers
  bool must_be_category = false;      ///< by CsvForm::categories
  std::vector<float> numbers{};       ///< of each row; NaN if the field is no number; empty if is_text
  std::vector<std::int32_t> codes{};  ///< of each row, into `texts`, else -1; empty if there are no texts
  std::vector<std::string> texts{};   ///< distinct, in the order of the file

  bool is_missing(std::size_t row) const;
};

/// A CSV file, or several of one form, read whole. Spaces and tabs around a field are no part of it, and
/// blank lines do not count. A missing label, a weight that is no number of at least 0, a line with another
/// number of fields and two columns of one name are Errors(data) with line and column.
struct CsvTable {
  std::string path{}, fingerprint{};
  /// Files after `path`, each with its first row.
  std::vector<std::pair<std::string, std::int64_t>> more_files{};
  char separator = ',';
  int header = 1;
  std::vector<TableColumn> columns{};         ///< names and uses, in the order of the file
  std::vector<CsvInput> inputs{};             ///< in the order of training
  std::vector<std::size_t> target_columns{};  ///< numbers from 1, in the order of CsvForm::targets
  std::vector<std::string> targets{};         ///< (rows, target columns), as they are written
  std::vector<float> weights{};               ///< of each row; empty without CsvForm::weight
  std::vector<std::int64_t> lines{};          ///< of each row in its file, from 1

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
  /// Throws Error(data) that points to a row's line.
  [[noreturn]] void fail(std::int64_t row, const std::string& what, const std::string& expected) const;
};

CsvTable read_csv(const std::string& path, const CsvForm& form);

/// The cells of all rows, (rows, inputs). Error(data) with line and column if a field does not fit its
/// column.
std::vector<float> cells_of(const CsvTable& table, const TableFeatures& features);

}  // namespace trainer
