#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/loading/data_description.h"
#include "datasets/readers/table_features.h"

namespace trainer {

/// Finds the inputs of a model in the records of a table. Where training named its columns and a record among
/// the first lines names all inputs, they are found by their names, in any order. Else they are all fields of
/// a record in the order of training, or its fields in the places that they had in training.
class TableRows {
 public:
  /// `id`: name of a column, or number from 1, whose fields are kept; empty: none. `path` names the table.
  TableRows(const DataDescription& data, std::string id, std::string path);

  /// Writes the elements of a record that begins in `line`, and the field of the id column. False if it is a
  /// line above the samples. Error(data) with line and column if a field does not fit its column;
  /// Error(usage) if the table lacks a column of the model.
  bool read(const std::vector<std::string>& fields, std::int64_t line, std::span<float> elements,
            std::string& id);

 private:
  bool is_settled() const { return !places_.empty(); }
  /// True if the record is a header that names all inputs.
  bool names_inputs(const std::vector<std::string>& fields);
  /// Settles the places of the inputs for records of so many fields without names; false if none fit.
  bool settle(std::size_t count);
  /// True if the fields are those of a sample: numbers where the model reads numbers, else categories that it
  /// knows.
  bool is_sample(const std::vector<std::string>& fields) const;
  void find_id(const std::vector<std::string>& names);

  const DataDescription& data_;
  TableFeatures features_;
  std::string id_, path_;
  std::vector<std::string> names_;    ///< of the inputs; empty if training did not name them all
  std::vector<std::size_t> places_;   ///< of the inputs in a record; empty: not known yet
  std::vector<float> cells_;          ///< of a record
  std::size_t fields_ = 0;            ///< of a record
  std::size_t id_place_ = 0;          ///< from 1; 0: none
  int lines_above_ = 0;               ///< that were no samples
  std::vector<std::string> lacking_;  ///< inputs that the first of these does not name
};

}  // namespace trainer
