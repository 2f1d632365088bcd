#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "datasets/readers/csv_table.h"

namespace trainer {

/// What holds for all columns.
struct ColumnRules {
  enum class Missing { mean, constant, indicator, error };
  Missing missing = Missing::mean;
  float constant = 0;
  int max_categories = 64;
};

/// The columns of numbers that hold a few texts, too, and those of texts that hold some numbers, which are
/// categories: they must be read as texts (CsvForm::texts). Error(data) for a column of which more than half
/// is numbers, or numbers with a decimal comma.
std::set<std::size_t> mixed_columns(const CsvTable& table);

/// Gives the columns of a table their types: numbers, booleans, else categories. `training` are the rows that
/// give means and categories. A column without any value there is ignored, and one of texts most of which are
/// different; they are no inputs any more. Error(data) if no input is left.
void set_types(CsvTable& table, std::span<const std::int64_t> training, const ColumnRules& rules);

/// The distinct names: in numerical order if all are integers, else in the order of their bytes.
std::vector<std::string> in_order(const std::set<std::string>& distinct);

}  // namespace trainer
