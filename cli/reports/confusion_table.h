#pragma once

#include <span>
#include <string>
#include <vector>

namespace trainer {

/// A confusion matrix in at most 80 columns of a terminal, with a heading. Columns have the names of classes,
/// indices where those are too wide, and where these are too, the most frequent mistakes are listed. `counts`
/// has a row for each true class; without a name for each, `names` is ignored.
std::string confusion_table(std::span<const double> counts, const std::vector<std::string>& names);

}  // namespace trainer
