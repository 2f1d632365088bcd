#pragma once

#include <string>
#include <vector>

#include "cli/reports/forecast_table.h"

namespace trainer {

/// Throughput over ranks with error bars beside the ideal line, both axes logarithmic; a file of its own, in
/// the style of docs/charts. `title` is shown above it. Empty if no row is possible.
std::string forecast_svg(const std::vector<ForecastRow>& rows, const std::string& title);

}  // namespace trainer
