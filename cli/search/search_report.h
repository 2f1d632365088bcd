#pragma once

#include <string>
#include <vector>

#include "cli/search/trial_table.h"

namespace trainer {

/// report.html of a search: how it went, the trials of a sweep as lines through parallel axes, `summary`
/// under its heading, and a table whose rows lead to the reports of the trials. `trials`: best first.
struct Summary {
  std::string heading, text;
};
std::string search_report_html(const SearchFolder& folder, std::vector<EndedTrial> trials,
                               const ScoreFacts& facts, const Summary& summary);

}  // namespace trainer
