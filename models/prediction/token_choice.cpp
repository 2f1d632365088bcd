#include "models/prediction/token_choice.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/core/elementary.h"

namespace trainer {
namespace {

/// Makes the weights of all tokens but the likeliest ones zero.
void keep_likeliest(const TokenChoice& choice, std::vector<double>& weights) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t most = choice.top_k > 0 ? std::min(choice.top_k, std::ssize(order)) : std::ssize(order);
  std::ranges::partial_sort(order, order.begin() + most, [&](std::size_t a, std::size_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
  });
  order.resize(static_cast<std::size_t>(most));
  double all = 0, sum = 0;
  for (const std::size_t token : order) all += weights[token];
  std::vector<double> kept(weights.size());
  for (const std::size_t token : order) {
    kept[token] = weights[token];
    if ((sum += weights[token]) >= choice.top_p * all) break;
  }
  weights = std::move(kept);
}

}  // namespace

Token choose_token(std::span<const float> scores, const TokenChoice& choice, float uniform) {
  const auto best = std::ranges::max_element(scores);
  if (choice.temperature == 0) return static_cast<Token>(best - scores.begin());
  const double highest = *best;
  std::vector<double> weights;
  for (const float score : scores)
    weights.push_back(elementary::exp((static_cast<double>(score) - highest) / choice.temperature));
  if (choice.top_k > 0 || choice.top_p < 1) keep_likeliest(choice, weights);
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  const auto place = std::ranges::upper_bound(sums, uniform * sums.back());
  return static_cast<Token>(std::min<std::int64_t>(place - sums.begin(), std::ssize(sums) - 1));
}

}  // namespace trainer
