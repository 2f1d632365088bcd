#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/training/observer.h"

namespace trainer {

/// "rank 2 is slow", or "ranks 2-3 are slow" of a model group; empty if `slow_rank` is -1.
std::string slow_rank_text(const RunFacts& facts, int slow_rank);

/// The table of epochs: right-aligned columns that stay aligned for large numbers.
class EpochTable {
 public:
  explicit EpochTable(const RunFacts& facts);

  std::string heading() const;
  std::string row(const EpochReport& report) const;
  /// "  3/5", as wide as the column of epochs.
  std::string epoch_cell(int epoch) const;

 private:
  void set_up_columns();
  /// Whether a metric has a column among the scores of the training samples.
  bool is_shown(std::size_t metric) const {
    return metric < shown_metrics_ && !facts_.metrics[metric].has_program;
  }
  std::string line(const std::vector<std::string>& cells) const;

  RunFacts facts_;
  std::vector<std::pair<std::string, std::size_t>> columns_;  ///< heading and width
  std::size_t space_ = 2;      ///< between two columns; 1 where 80 columns need it
  std::size_t shown_metrics_;  ///< of training samples: the first ones, as many as 80 columns allow
};

}  // namespace trainer
