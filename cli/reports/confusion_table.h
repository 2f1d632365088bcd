#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainer {

/// A confusion matrix in at most 80 columns of a terminal, with a heading. Predicted classes are numbers
/// where their names need more columns; where numbers do too, the most frequent mistakes are listed. `counts`
/// has a row for each class; `names`: of the classes; without as many they are numbers.
std::string confusion_table(std::span<const double> counts, const std::vector<std::string>& names);

}  // namespace trainer
