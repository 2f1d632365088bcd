#include "cli/search/draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/error.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

/// The number of combinations; 0: a space is continuous, or they are more than `most`.
std::int64_t combinations(const std::vector<Space>& spaces, std::int64_t most) {
  std::int64_t count = 1;
  for (const Space& space : spaces) {
    count *= std::ssize(space.points());
    if (count > most) return 0;
  }
  return count;
}

TrialValues combination(const std::vector<Space>& spaces, std::int64_t number) {
  TrialValues values(spaces.size());
  for (std::size_t i = spaces.size(); i-- > 0;) {
    const auto& points = spaces[i].points();
    values[i] = points[static_cast<std::size_t>(number % std::ssize(points))];
    number /= std::ssize(points);
  }
  return values;
}

}  // namespace

std::vector<TrialValues> grid_trials(const std::vector<Space>& spaces) {
  for (const Space& space : spaces)
    if (space.points().empty())
      throw Error(ExitCode::usage,
                  fmt::format("a grid needs points of {}, and its space is continuous", space.key()),
                  "a number of points as in log(1e-3,1e-1,5), a list, or --method random");
  const std::int64_t count = combinations(spaces, kMostTrials);
  if (count == 0)
    throw Error(ExitCode::usage, fmt::format("the grid has more than {} trials", kMostTrials),
                "fewer points, or --method random --trials N");
  std::vector<TrialValues> trials;
  for (std::int64_t number = 0; number < count; ++number) trials.push_back(combination(spaces, number));
  return trials;
}

std::vector<TrialValues> random_trials(const std::vector<Space>& spaces, std::int64_t count,
                                       std::uint64_t seed) {
  constexpr std::int64_t kMostCombinations = 1'000'000;
  std::vector<TrialValues> trials;
  if (const std::int64_t all = combinations(spaces, kMostCombinations); all > 0) {
    const std::vector<std::int64_t> order = permutation(all, RandomStream(seed, "sweep"));
    for (std::int64_t trial = 0; trial < std::min(count, all); ++trial)
      trials.push_back(combination(spaces, order[static_cast<std::size_t>(trial)]));
    return trials;
  }
  for (std::int64_t trial = 0; trial < count; ++trial) {
    TrialValues values;
    for (const Space& space : spaces)
      values.push_back(
          space.at(RandomStream(seed, "sweep " + space.key()).uniform(static_cast<std::uint64_t>(trial))));
    trials.push_back(std::move(values));
  }
  return trials;
}

std::vector<Rung> halving_rungs(std::int64_t trials) {
  constexpr std::int64_t kKeep = 3;
  std::vector<Rung> rungs;
  for (std::int64_t left = trials; left > 0; left /= kKeep) rungs.push_back({.trials = left});
  double share = 1;
  for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung, share /= kKeep) rung->share = share;
  return rungs;
}

}  // namespace trainer
