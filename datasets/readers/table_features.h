#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/input_form.h"

namespace trainer {

/// True for what tables write where a value is missing, in any case: nothing, NA, N/A, NaN, null and `?`.
bool is_missing(std::string_view field);
/// 1 for `true` and `yes`, 0 for `false` and `no`, in any case.
std::optional<float> parse_boolean(std::string_view field);

/// Makes the elements of a sample from the inputs of a table's row. A number or a boolean is one element, and
/// one more if its column has an indicator; a category is one of several elements that is 1. Categories that
/// training lacks are the element `other` if some training samples had rare ones, else no element is 1.
///
/// A cell is one input as it is kept in memory: the value of a number or a boolean, NaN if it is missing; of
/// a category the place of the element that is 1, -1 for none.
class TableFeatures {
 public:
  /// Of the columns that are inputs.
  explicit TableFeatures(const std::vector<TableColumn>& columns);

  std::size_t inputs() const { return inputs_.size(); }
  const TableColumn& column(std::size_t input) const { return inputs_[input].column; }
  std::size_t elements(std::size_t input) const { return inputs_[input].elements; }
  /// Elements of a sample.
  std::int64_t size() const;
  /// The cell of a field; none if the field is missing where a value is required, or is no number.
  std::optional<float> cell(std::size_t input, std::string_view field) const;
  /// What is wrong with a field that has no cell, and what would be right.
  std::pair<std::string, std::string> problem(std::size_t input, std::size_t column,
                                              std::string_view field) const;
  /// Writes the elements of a sample.
  void expand(std::span<const float> cells, std::span<float> elements) const;
  /// Of the elements, in their order: "carat", "cut=Fair", "age missing".
  std::vector<std::string> names() const;
  /// Of each element: true if it is the value of a number, false if it is 0 or 1.
  std::vector<bool> are_values() const;

 private:
  struct Input {
    TableColumn column;
    std::size_t elements = 1;
    std::map<std::string, float, std::less<>> places;  ///< of the categories
    float other = -1, missing = -1;                    ///< places of a category
  };
  std::vector<Input> inputs_;
};

}  // namespace trainer
