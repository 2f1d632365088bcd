#pragma once

#include <string>
#include <vector>

#include "datasets/readers/csv_table.h"

namespace trainer {

/// The rows of several files of one form, one file after the other. Columns of later files are found by the
/// names of the first one, else they stand in its places. Error(data) as read_csv(), and if columns differ.
CsvTable read_csv_files(const std::vector<std::string>& paths, const CsvForm& form);

}  // namespace trainer
