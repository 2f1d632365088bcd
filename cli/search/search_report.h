#pragma once

#include <string>
#include <vector>

#include "cli/search/trial_table.h"

namespace trainer {

/// report.html of a sweep: how it went, its trials as lines through parallel axes, and as a table whose rows
/// lead to their reports. `trials`: best first. `command`: that of the best one.
std::string sweep_report_html(const SearchFolder& folder, const std::vector<EndedTrial>& trials,
                              const ScoreFacts& facts, const std::string& command);

}  // namespace trainer
