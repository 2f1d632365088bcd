#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datasets/input_form.h"

namespace trainer {

/// How a CSV file is written, and which columns are inputs and targets.
struct CsvForm {
  std::optional<char> separator{};  ///< none: recognised
  std::optional<int> header{};      ///< lines above the samples, the last may name columns; none: recognised
  std::vector<std::string> targets{};  ///< columns by name, or by number from 1
  std::string weight{};                ///< a column by name or number; empty: samples have no weights
  bool has_labels = true;              ///< targets are labels: missing ones are errors
  std::vector<std::string> ignore{}, numbers{}, categories{};  ///< columns by name or number
  std::set<std::size_t> texts{};  ///< columns from 0 to keep as texts, besides `categories`
  /// The columns of training, whose inputs the file must have: by their names in any place, or else in the
  /// places of training. Null: all columns are inputs but targets and ignored ones.
  const std::vector<TableColumn>* trained = nullptr;
};

/// The columns of a table and what each is used for.
class CsvColumns {
 public:
  /// `names` of the line `header_line` may be of another length than the `count` fields of a sample: then it
  /// is a title, and columns have numbers only. Error(data) if the form names a column that is not there, or
  /// if two columns have one name.
  CsvColumns(const std::string& path, std::int64_t header_line, std::vector<std::string> names,
             std::size_t count, const CsvForm& form);

  std::size_t count() const { return uses_.size(); }
  /// From 0, in the order of training.
  const std::vector<std::size_t>& inputs() const { return inputs_; }
  /// From 0, in the order of CsvForm::targets.
  const std::vector<std::size_t>& targets() const { return targets_; }
  /// From 0; none without CsvForm::weight.
  std::optional<std::size_t> weight() const { return weight_; }
  /// All of them, in the order of the file.
  std::vector<TableColumn> description() const;
  /// The column from 0 that a name, or a number from 1, means. Error(data) if there is none.
  std::size_t find(const std::string& key) const;

 private:
  /// Finds the inputs of training by their names; false if not all are there, so that they stand in their
  /// places.
  bool find_inputs(const std::vector<TableColumn>& trained);
  bool find_places(const std::vector<TableColumn>& trained);
  void use(const std::vector<std::size_t>& places);
  /// Columns without a name, or with a number for a name, and ignored columns may be alike.
  void require_distinct_names() const;
  [[noreturn]] void fail_same_name(std::size_t first, std::size_t second) const;

  const std::string& path_;
  std::int64_t header_line_;
  std::size_t title_;  ///< fields of a line above the samples that does not name the columns
  std::vector<std::string> names_;
  std::vector<TableColumn::Use> uses_;
  std::vector<std::size_t> inputs_, targets_;
  std::optional<std::size_t> weight_;
};

}  // namespace trainer
