#pragma once

#include <string>
#include <vector>

#include "cli/reports/chart.h"

namespace trainer {

/// The charts of gradients.csv, a curve for each layer, or for eight of many layers; none if it has no row
/// but the heading. `rows`: of the file, at least one; those of another length are left out.
std::vector<Chart> gradient_charts(const std::vector<std::vector<std::string>>& rows);

}  // namespace trainer
