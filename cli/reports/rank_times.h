#pragma once

#include <string>
#include <vector>

#include "models/runs/training_run.h"

namespace trainer {

/// Of a run directory.
inline constexpr const char* kRankTimesFile = "ranks.csv";

/// A row for each rank, in seconds.
std::string rank_times_csv(const std::vector<RankTimes>& ranks);

/// That text, of a file that is not trusted, as HTML: a bar for each rank. Empty without rows.
std::string rank_times_html(const std::string& csv);

}  // namespace trainer
