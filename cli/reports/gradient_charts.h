#pragma once

#include <string>
#include <vector>

#include "cli/reports/chart.h"

namespace trainer {

/// The charts of gradients.csv, a curve for each layer, or for eight of many layers; none if it has no row.
/// Skips what this program cannot have written.
std::vector<Chart> gradient_charts(const std::string& csv);

}  // namespace trainer
