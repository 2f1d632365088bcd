#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/search/space.h"

namespace trainer {

/// A value for each space, in their order.
using TrialValues = std::vector<std::string>;

/// All combinations of the points of the spaces, the last one fastest. Error(usage) if a space is continuous
/// or there are more than kMostTrials.
std::vector<TrialValues> grid_trials(const std::vector<Space>& spaces);

/// Random search (Bergstra and Bengio 2012): trial i is a function of the seed and i alone. If all spaces
/// have points, no combination occurs twice, and there are at most as many trials as combinations.
std::vector<TrialValues> random_trials(const std::vector<Space>& spaces, std::int64_t count,
                                       std::uint64_t seed);

inline constexpr std::int64_t kMostTrials = 100'000;

/// The rungs of successive halving (Jamieson and Talwalkar 2016, arXiv:1502.07943): of `trials`, a third
/// continues after each rung but the last one.
struct Rung {
  double share = 1;         ///< of a run that its trials have done at its end
  std::int64_t trials = 0;  ///< that are in it
};
std::vector<Rung> halving_rungs(std::int64_t trials);

}  // namespace trainer
