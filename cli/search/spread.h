#pragma once

#include <string>
#include <vector>

#include "cli/search/trial_table.h"

namespace trainer {

/// Mean and standard deviation (n - 1) of a score over trials.
struct Spread {
  std::string name;  ///< "valid accuracy"
  double mean = 0, deviation = 0;
};

/// Of the loss and each metric, over those of `trials` that did not fail, at least one. The deviation of one
/// trial is NaN.
std::vector<Spread> spreads_of(const std::vector<EndedTrial>& trials, const ScoreFacts& facts);

/// Two lines below those of a table: the means, and the deviations.
std::string spread_lines(const TrialTable& table, const std::vector<Spread>& spreads,
                         const ScoreFacts& facts);

/// summary.csv: a row for each score.
std::string spread_csv(const std::vector<Spread>& spreads, std::size_t trials);

}  // namespace trainer
