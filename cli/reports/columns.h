#pragma once

#include <string>

#include "datasets/input_form.h"

namespace trainer {

/// "columns: 6 numbers, 3 categories, 2 missing values; ignored: name"; empty if the samples are no table.
std::string columns_text(const InputForm& form);

/// How the table is written, then a line for each column of a table: its name, type, elements, and what
/// stands for missing values.
std::string columns_table(const InputForm& form);

}  // namespace trainer
