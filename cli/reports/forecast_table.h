#pragma once

#include <string>
#include <vector>

#include "models/planning/step_model.h"

namespace trainer {

/// A value with the bounds of its error bar.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// What a forecast finds for a number of ranks.
struct ForecastRow {
  int ranks = 1, hosts = 1;
  std::string impossible;  ///< why the run cannot be so large; empty: it can
  int data_ranks = 1, model_ranks = 1;
  std::int64_t batch = 0;
  Estimate step;        ///< seconds
  Estimate throughput;  ///< examples a second
  Estimate efficiency;  ///< throughput over that of so many times one rank
  double waiting = 0;   ///< share of the step that communication takes and nothing hides
};

std::string forecast_table(const std::vector<ForecastRow>& rows);
std::string forecast_csv(const std::vector<ForecastRow>& rows, bool weak);

}  // namespace trainer
