#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/training/observer.h"

namespace trainer {

/// The table of epochs: right-aligned columns that stay aligned for large numbers.
class EpochTable {
 public:
  explicit EpochTable(const RunFacts& facts);

  std::string heading() const;
  std::string row(const EpochReport& report) const;
  /// "  3/5", as wide as the column of epochs.
  std::string epoch_cell(int epoch) const;

 private:
  std::string line(const std::vector<std::string>& cells) const;

  RunFacts facts_;
  std::vector<std::pair<std::string, std::size_t>> columns_;  ///< heading and width
  std::size_t space_ = 2;  ///< between two columns; 1 where 80 columns need it
};

}  // namespace trainer
