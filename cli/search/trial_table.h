#pragma once

#include <string>
#include <vector>

#include "cli/search/search_folder.h"

namespace trainer {

/// A trial that has ended.
struct EndedTrial {
  Trial trial;
  Outcome outcome;
};

/// Best first: those that trained longest, by their score, equal ones by their number; then those that
/// failed.
void sort_by_score(std::vector<EndedTrial>& trials, const ScoreFacts& facts);

/// Lines for the terminal with a column for each key and each score, of the same widths.
class TrialTable {
 public:
  TrialTable(const SearchPlan& plan, const ScoreFacts& facts);
  std::string heading() const;
  std::string line(const Trial& trial, const Outcome& outcome) const;
  /// The cells of heading() and line(), without the reason of a failure.
  std::vector<std::string> titles() const { return titles_; }
  std::vector<std::string> cells(const Trial& trial, const Outcome& outcome) const;
  /// Cells as a line of the table, without its newline.
  std::string joined(const std::vector<std::string>& cells) const;

 private:
  const ScoreFacts& facts_;
  std::vector<std::string> titles_;
  std::vector<std::size_t> widths_;
};

/// trials.csv: a row for each trial, with full keys and exact values.
std::string trials_csv(const SearchPlan& plan, const std::vector<EndedTrial>& trials,
                       const ScoreFacts& facts);

}  // namespace trainer
